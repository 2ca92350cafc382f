package kubernetes

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"tare/internal/image"
)

// reference is the name by which the nodes know the image.
func (p *pods) reference(img *image.Image) string {
	if p.options.Image != "" {
		return p.options.Image
	}
	return img.EngineName()
}

// checkImage compares the image that the pod runs with that of the run. A node names an
// image by the digest of its configuration if it was loaded, and by that of its manifest
// if it was pulled.
func (p *pods) checkImage(ctx context.Context, img *image.Image, i *instance) error {
	pod, err := i.cluster.await(ctx, i.name, func(pod *corev1.Pod) (bool, error) {
		return len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].ImageID != "", failure(pod)
	}, nil)
	if err != nil {
		return err
	}
	i.pod = pod
	runs := pod.Status.ContainerStatuses[0].ImageID
	oci, err := img.OCI(ctx)
	if err != nil {
		return err
	}
	config, err := oci.ConfigName()
	if err != nil {
		return err
	}
	manifest, err := oci.Digest()
	if err != nil {
		return err
	}
	if strings.HasSuffix(runs, config.String()) || strings.HasSuffix(runs, manifest.String()) {
		return nil
	}
	// Pushed to a registry, the layer may be packed, which gives another manifest. A digest
	// in the study stands for one content, whatever it is.
	if _, digest, pinned := strings.Cut(p.options.Image, "@"); pinned && strings.HasSuffix(runs, digest) {
		i.notes = append(i.notes, fmt.Sprintf("the pod runs the image %s, as the study says; its files were not compared with the image of the run, %s", p.options.Image, img.Digest))
		return nil
	}
	return fmt.Errorf("the pod runs another image than the run: node %s has %s under the name %s, and the image of the run, %s, is %s: load it there again (`tare save`), or name the one to run by its digest (image: NAME@sha256:...)",
		pod.Spec.NodeName, runs, pod.Spec.Containers[0].Image, img.Name, config)
}
