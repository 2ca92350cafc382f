// Command metrics is metrics-server for a cluster of tests. Its packages run with the
// modules of the cluster's Kubernetes, so that little is compiled for it; its own
// command does not compile with them, and this one takes its place.
package main

import (
	"flag"
	"log"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	openapi "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/metrics-server/pkg/api"
	generated "sigs.k8s.io/metrics-server/pkg/api/generated/openapi"
	"sigs.k8s.io/metrics-server/pkg/scraper/client"
	metrics "sigs.k8s.io/metrics-server/pkg/server"
)

// What the manifest of metrics-server sets.
const resolution, scrape = 15 * time.Second, 10 * time.Second

func main() {
	kubeconfig := flag.String("kubeconfig", "", "connection to the API server and the kubelets")
	address := flag.String("address", "", "address to listen at")
	port := flag.Int("port", 4443, "port to listen at")
	certificate := flag.String("certificate", "", "files of the certificate and the key, without .crt and .key")
	flag.Parse()
	if err := run(*kubeconfig, *address, *port, *certificate); err != nil {
		log.Fatal(err)
	}
}

func run(kubeconfig, address string, port int, certificate string) error {
	connection, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	connection.ContentType = "application/vnd.kubernetes.protobuf"
	if err := rest.SetKubernetesDefaults(connection); err != nil {
		return err
	}
	secure := options.NewSecureServingOptions().WithLoopback()
	secure.BindAddress, secure.BindPort = net.ParseIP(address), port
	secure.ServerCert.CertKey = options.CertKey{CertFile: certificate + ".crt", KeyFile: certificate + ".key"}
	authentication, authorization := options.NewDelegatingAuthenticationOptions(), options.NewDelegatingAuthorizationOptions()
	authentication.RemoteKubeConfigFile, authorization.RemoteKubeConfigFile = kubeconfig, kubeconfig

	config := server.NewConfig(api.Codecs)
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	if err := secure.ApplyTo(&config.SecureServing, &config.LoopbackClientConfig); err != nil {
		return err
	}
	if err := authentication.ApplyTo(&config.Authentication, config.SecureServing, nil); err != nil {
		return err
	}
	if err := authorization.ApplyTo(&config.Authorization); err != nil {
		return err
	}
	names := openapi.NewDefinitionNamer(api.Scheme)
	config.OpenAPIConfig = server.DefaultOpenAPIConfig(generated.GetOpenAPIDefinitions, names)
	config.OpenAPIV3Config = server.DefaultOpenAPIV3Config(generated.GetOpenAPIDefinitions, names)

	made, err := metrics.Config{
		Apiserver: config, Rest: connection, MetricResolution: resolution, ScrapeTimeout: scrape,
		Kubelet: &client.KubeletClientConfig{Scheme: "https", UseNodeStatusPort: true, AddressTypePriority: []corev1.NodeAddressType{corev1.NodeInternalIP}, Client: *rest.CopyConfig(connection)},
	}.Complete()
	if err != nil {
		return err
	}
	return made.RunUntil(server.SetupSignalHandler())
}
