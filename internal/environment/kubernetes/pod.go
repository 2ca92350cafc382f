package kubernetes

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"tare/internal/environment"
	"tare/internal/environment/kubernetes/api"
	"tare/internal/host/cleanup"
	"tare/internal/image"
)

const (
	agentDirectory = "/.tare"
	agentInside    = agentDirectory + "/agent"
	// The containers of a pod.
	receiver, workload = "agent", "workload"
	// instanceLabel selects the pod of a service.
	instanceLabel = "tare.instance"
	// aSecond is the grace of pods: the agent was shut down before, or is to be killed.
	aSecond = int64(1)
)

// longestName is that of an instance's part of the name of its objects.
const longestName = 40

// nameOf is the name of an instance's pod and service.
func nameOf(o *cleanup.Owner, instance string) string {
	return "tare-" + o.ID() + "-" + api.Name(instance, longestName)
}

// labels of all objects of an owner.
func labels(o *cleanup.Owner) map[string]string { return map[string]string{cleanup.Label: o.ID()} }

// meta of an object of an instance. In a pod the coordinator owns it, so that it is
// removed with the coordinator.
func (c *cluster) meta(o *cleanup.Owner, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: c.Namespace, Labels: labels(o), OwnerReferences: c.coordinator()}
}

// coordinator is the pod that tare runs in; nothing elsewhere.
func (c *cluster) coordinator() []metav1.OwnerReference {
	pod, uid := os.Getenv("TARE_POD_NAME"), os.Getenv("TARE_POD_UID")
	if !c.inCluster || pod == "" || uid == "" {
		return nil
	}
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod, UID: types.UID(uid)}}
}

// pod is the description of an instance.
func (p *pods) pod(c *cluster, r environment.Request, name string) *corev1.Pod {
	o := &p.options
	image, named := o.reference(r.Image)
	pull := o.pullPolicy(named)
	no, grace := false, aSecond
	meta := c.meta(r.Owner, name)
	meta.Labels[instanceLabel] = api.Sum(name)
	meta.Annotations = map[string]string{"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
	resources := resourcesOf(r.Limits)
	security := o.security()
	mounts := []corev1.VolumeMount{{Name: "agent", MountPath: agentDirectory, ReadOnly: true}, {Name: "data", MountPath: "/data"}}
	volumes := []corev1.Volume{
		{Name: "agent", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "data", VolumeSource: o.data()},
	}
	if o.ReadOnlyRoot {
		for _, directory := range []string{"tmp", "run"} {
			mounts = append(mounts, corev1.VolumeMount{Name: directory, MountPath: "/" + directory})
			volumes = append(volumes, corev1.Volume{Name: directory, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
		}
	}
	for n, m := range r.Mounts { // those in memory: a pod has no others
		memory := corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}
		if m.Size > 0 {
			memory.SizeLimit = resource.NewQuantity(int64(m.Size), resource.BinarySI)
		}
		name := "memory-" + strconv.Itoa(n)
		mounts = append(mounts, corev1.VolumeMount{Name: name, MountPath: m.To, ReadOnly: m.ReadOnly})
		volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &memory}})
	}
	receives, receiverPull := image, pull
	if o.AgentImage != "" {
		receives, receiverPull = o.AgentImage, corev1.PullIfNotPresent
	}
	spec := corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyNever,
		AutomountServiceAccountToken:  &no,
		EnableServiceLinks:            &no,
		TerminationGracePeriodSeconds: &grace,
		NodeSelector:                  o.NodeSelector,
		Tolerations:                   o.tolerations(),
		HostNetwork:                   o.Network == "host",
		PriorityClassName:             o.PriorityClass,
		Volumes:                       volumes,
		InitContainers: []corev1.Container{{
			Name: receiver, Image: receives, ImagePullPolicy: receiverPull,
			Command: []string{"/bin/sh", "-c", "cat >" + agentInside + " && chmod 755 " + agentInside},
			Stdin:   true, StdinOnce: true, Resources: resources, SecurityContext: security,
			VolumeMounts: []corev1.VolumeMount{{Name: "agent", MountPath: agentDirectory}},
		}},
		Containers: []corev1.Container{{
			Name: workload, Image: image, ImagePullPolicy: pull,
			Command: []string{agentInside, "stdio", "--open=/data", "--await"},
			Stdin:   true, StdinOnce: true, // it ends when tare does
			Resources: resources, SecurityContext: security, VolumeMounts: mounts,
		}},
	}
	if p.helper {
		privilege(&spec)
	}
	if o.RuntimeClass != "" {
		spec.RuntimeClassName = &o.RuntimeClass
	}
	for _, secret := range o.PullSecrets {
		spec.ImagePullSecrets = append(spec.ImagePullSecrets, corev1.LocalObjectReference{Name: secret})
	}
	if r.Node != "" {
		spec.Affinity = onNode(r.Node)
	}
	return &corev1.Pod{ObjectMeta: meta, Spec: spec}
}

// onNode leaves the pod to the scheduler, which accounts its resources, unlike nodeName.
func onNode(name string) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{name}}}}}}}}
}

// resourcesOf are the limits, which are also the requests, so that the pod has the
// quality of service Guaranteed where CPUs and memory are limited.
func resourcesOf(l environment.Limits) corev1.ResourceRequirements {
	list := corev1.ResourceList{}
	if l.CPUs > 0 {
		list[corev1.ResourceCPU] = *resource.NewMilliQuantity(int64(math.Round(l.CPUs*1000)), resource.DecimalSI)
	}
	if l.Memory > 0 {
		list[corev1.ResourceMemory] = *resource.NewQuantity(int64(l.Memory), resource.BinarySI)
	}
	return corev1.ResourceRequirements{Requests: list, Limits: list}
}

func (o *Options) security() *corev1.SecurityContext {
	profile := corev1.SeccompProfileTypeRuntimeDefault
	if o.Seccomp == "unconfined" {
		profile = corev1.SeccompProfileTypeUnconfined
	}
	s := &corev1.SecurityContext{SeccompProfile: &corev1.SeccompProfile{Type: profile}, RunAsUser: o.User}
	all := []corev1.Capability{"ALL"}
	switch o.Capabilities {
	case "none":
		s.Capabilities = &corev1.Capabilities{Drop: all}
	case "all":
		s.Capabilities = &corev1.Capabilities{Add: all}
	}
	if o.ReadOnlyRoot {
		s.ReadOnlyRootFilesystem = &o.ReadOnlyRoot
	}
	return s
}

// data is the volume at /data. A claim belongs to the pod, and is removed with it.
func (o *Options) data() corev1.VolumeSource {
	switch o.Data {
	case "memory":
		return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}
	case "pvc":
		claim := corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceStorage: *resource.NewQuantity(int64(o.StorageSize), resource.BinarySI)}},
		}
		if o.StorageClass != "" {
			claim.StorageClassName = &o.StorageClass
		}
		return corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: claim}}}
	}
	return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
}

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
		nodes, err := c.nodes.list(within, metav1.ListOptions{LabelSelector: k8slabels.SelectorFromSet(p.options.NodeSelector).String()})
		if err != nil || len(nodes) == 0 {
			return ctx.Err()
		}
		if slices.ContainsFunc(nodes, func(n corev1.Node) bool { return mayHave(n, reference) }) {
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
