package manifest

import (
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"tare/internal/application"
)

// mounts gives the container what its volumes have.
func (c container) mounts() {
	for i, m := range c.spec.VolumeMounts {
		at := []any{"volumeMounts", i}
		if !path.IsAbs(m.MountPath) {
			c.failed(at, "mountPath %q is not absolute", m.MountPath)
			continue
		}
		if m.SubPath != "" && (path.IsAbs(m.SubPath) || path.Clean(m.SubPath) != m.SubPath || m.SubPath[0] == '.') {
			c.failed(at, "subPath %q is not a plain path within the volume", m.SubPath)
			continue
		}
		c.mount(at, m)
	}
}

func (c container) mount(at []any, m corev1.VolumeMount) {
	p, to := c.pod, path.Clean(m.MountPath)
	add := func(v application.Volume) {
		v.Target, v.ReadOnly = to, m.ReadOnly
		if v.Kind == "volume" && m.SubPath != "" {
			v.Source += "/" + m.SubPath
		}
		c.service.Volumes = append(c.service.Volumes, v)
	}
	if slices.Contains(p.claims, m.Name) {
		add(application.Volume{Kind: "volume", Empty: true, Source: p.object.Name + "/" + m.Name})
		return
	}
	i := slices.IndexFunc(p.template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
	if i < 0 {
		c.failed(at, "the pod has no volume %q", m.Name)
		return
	}
	v := p.template.Spec.Volumes[i]
	switch {
	case v.EmptyDir != nil && v.EmptyDir.Medium == corev1.StorageMediumMemory && m.SubPath == "":
		one := application.Volume{Kind: "tmpfs", Source: p.object.Name + "/" + v.Name}
		if v.EmptyDir.SizeLimit != nil {
			one.Size = v.EmptyDir.SizeLimit.Value()
		}
		add(one)
	case v.EmptyDir != nil:
		add(application.Volume{Kind: "volume", Empty: true, Source: p.object.Name + "/" + v.Name})
	case v.PersistentVolumeClaim != nil:
		name := v.PersistentVolumeClaim.ClaimName
		if !c.claims[p.object.Namespace+"/"+name] {
			c.absent(at, "PersistentVolumeClaim", name, nil)
			return
		}
		add(application.Volume{Kind: "volume", Empty: true, Source: "claim/" + name})
	case v.HostPath != nil:
		if _, err := os.Stat(v.HostPath.Path); err != nil || m.SubPath != "" {
			c.failed(at, "volume %s: hostPath %s is not on this machine, or a subPath of it is mounted, and tare creates none: make it an emptyDir or a ConfigMap", v.Name, v.HostPath.Path)
			return
		}
		add(application.Volume{Kind: "bind", Source: v.HostPath.Path})
	case v.ConfigMap != nil:
		config, has := c.configs[p.object.Namespace+"/"+v.ConfigMap.Name]
		if !has {
			c.absent(at, "ConfigMap", v.ConfigMap.Name, v.ConfigMap.Optional)
			return
		}
		keys := slices.Collect(maps.Keys(config.Data))
		for key, value := range config.BinaryData {
			if !utf8.Valid(value) {
				c.failed(at, "ConfigMap %s: the value of %s is not text: bring the file in the image", v.ConfigMap.Name, key)
			}
			keys = append(keys, key)
		}
		c.files(at, m, "ConfigMap "+v.ConfigMap.Name, keys, v.ConfigMap.Items, v.ConfigMap.DefaultMode, func(key string) application.File {
			value, is := config.Data[key]
			if !is {
				value = string(config.BinaryData[key])
			}
			c.mention("file "+key+" of ConfigMap "+v.ConfigMap.Name, value)
			return application.File{Content: value}
		})
	case v.Secret != nil:
		secret, has := c.secrets[p.object.Namespace+"/"+v.Secret.SecretName]
		if !has {
			c.absent(at, "Secret", v.Secret.SecretName, v.Secret.Optional)
			return
		}
		keys := slices.Collect(maps.Keys(c.secret(secret)))
		c.files(at, m, "Secret "+v.Secret.SecretName, keys, v.Secret.Items, v.Secret.DefaultMode, func(key string) application.File {
			value := c.variable(secret, key)
			return application.File{Source: value.File, Key: value.Key, Secret: true}
		})
	}
}

// files adds the keys of a ConfigMap or a Secret as files.
func (c container) files(at []any, m corev1.VolumeMount, what string, keys []string, items []corev1.KeyToPath, mode *int32, file func(key string) application.File) {
	slices.Sort(keys)
	if len(items) == 0 {
		for _, key := range keys {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
	}
	found := false
	for _, item := range items {
		if !slices.Contains(keys, item.Key) {
			c.failed(at, "%s has no key %s", what, item.Key)
			continue
		}
		to := path.Join(m.MountPath, path.Join("/", item.Path))
		if m.SubPath != "" {
			if item.Path != m.SubPath {
				continue
			}
			to = path.Clean(m.MountPath)
		}
		found = true
		one := file(item.Key)
		one.Target, one.Mode = to, 0o644
		if mode != nil {
			one.Mode = uint32(*mode) & 0o777
		}
		if item.Mode != nil {
			one.Mode = uint32(*item.Mode) & 0o777
		}
		if of := c.pod.template.Spec.SecurityContext; of != nil && of.FSGroup != nil { // as in a cluster
			one.GID = strconv.FormatInt(*of.FSGroup, 10)
			one.Mode |= one.Mode & 0o400 >> 3
		}
		c.service.Files = append(c.service.Files, one)
	}
	if m.SubPath != "" && !found {
		c.failed(at, "%s has no file %s, which subPath names", what, m.SubPath)
	}
}

// shareVolumes makes a directory in memory that several containers of a pod have one on
// disk, which can be shared.
func (r *reader) shareVolumes(p *pod) {
	users := map[string]int{}
	all := append(slices.Clone(p.before), p.service)
	for _, s := range all {
		for _, v := range s.Volumes {
			users[v.Source]++
		}
	}
	for _, s := range all {
		for i := range s.Volumes {
			v := &s.Volumes[i]
			if v.Kind == "tmpfs" && users[v.Source] > 1 {
				v.Kind, v.Empty, v.Size = "volume", true, 0
				r.note("emptyDir.medium", "init containers share it, so it is on disk", p.object.Name)
			} else if v.Kind == "tmpfs" {
				v.Source = ""
			}
		}
	}
}
