package kubernetes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"

	"tare/internal/image"
)

// recipe stands for an image that tare made, in the option images.
const recipe = "recipe"

// reference is the name by which the nodes know the image. named: the options say it.
func (o *Options) reference(img *image.Image) (name string, named bool) {
	key := img.Name
	if img.FromRecipe() {
		key = recipe
	}
	if name = cmp.Or(o.Images[key], o.Image); name != "" {
		return name, true
	}
	return img.EngineName(), false
}

const (
	// mostReported is how many images a kubelet reports of its node: nodeStatusMaxImages,
	// by default.
	mostReported = 50
	// reportTime is how long to wait for the report of an image that was just loaded:
	// kubelets list their images every 30 s, and report every 10 s by default.
	reportTime, reportPace = 45 * time.Second, time.Second
)

// checkLoaded refuses an image that is not pulled and that no node has: every start would
// fail. A node that is full of images may have more than it reports, and without the
// permission to read nodes nothing is known: then the starts tell.
func (p *pods) checkLoaded(ctx context.Context, c *cluster, img *image.Image, progress func(string)) error {
	reference, named := p.options.reference(img)
	if p.options.pullPolicy(named) != corev1.PullNever {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, reportTime)
	defer cancel()
	for first := true; ; first = false {
		nodes, err := c.core.Nodes().List(within, metav1.ListOptions{LabelSelector: k8slabels.SelectorFromSet(p.options.NodeSelector).String()})
		if err != nil || len(nodes.Items) == 0 {
			return ctx.Err()
		}
		if slices.ContainsFunc(nodes.Items, func(n corev1.Node) bool { return mayHave(n, reference) }) {
			return nil
		}
		if first {
			progress("waiting for a node that reports the image " + reference)
		}
		select {
		case <-within.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("no node has the image %s; %s", reference, howToLoad(reference, "on the nodes"))
		case <-time.After(reportPace):
		}
	}
}

// mayHave says whether a node has an image, as far as it reports. Reports have the
// registry in names that are without one in the study.
func mayHave(node corev1.Node, reference string) bool {
	return len(node.Status.Images) >= mostReported || slices.ContainsFunc(node.Status.Images, func(i corev1.ContainerImage) bool {
		return slices.ContainsFunc(i.Names, func(name string) bool { return name == reference || strings.HasSuffix(name, "/"+reference) })
	})
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
	reference, _ := p.options.reference(img)
	if _, digest, pinned := strings.Cut(reference, "@"); pinned && strings.HasSuffix(runs, digest) {
		i.Findings = append(i.Findings, fmt.Sprintf("the pod runs the image %s, as the study says; its files were not compared with the image of the run, %s", reference, img.Digest))
		return nil
	}
	return fmt.Errorf("the pod runs another image than the run: node %s has %s under the name %s, and the image of the run, %s, is %s: load it there again (`tare save`), or name the one to run by its digest (image: NAME@sha256:...)",
		pod.Spec.NodeName, runs, pod.Spec.Containers[0].Image, img.Name, config)
}
