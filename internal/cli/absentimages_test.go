package cli

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/study"
)

func TestADryRunSaysWhichImagesTheEngineLacks(t *testing.T) {
	directory := t.TempDir()
	for name, text := range map[string]string{
		"compose.yaml": "services: {api: {build: ., image: shop-api}, db: {build: ., image: shop-db, expose: [1]}, cache: {image: redis}}",
		"study.yaml":   "study: x\nenvironments: {native: {}}\nworkloads: [{use: nginx-open, server: {compose: ./compose.yaml, service: api}}]",
	} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	plan, err := study.Open(filepath.Join(directory, "study.yaml"), study.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/_ping"):
			w.Header().Set("Api-Version", "1.44")
		case strings.HasSuffix(r.URL.Path, "/images/shop-db/json"):
			_, _ = w.Write([]byte(`{"Config":{"Cmd":["db"]}}`))
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"message":"No such image"}`))
		}
	}))
	t.Setenv("DOCKER_HOST", "tcp://"+strings.TrimPrefix(engine.URL, "http://"))
	want := []string{"image docker-daemon:shop-api: the Docker daemon has no image shop-api: see docker images, or docker pull it; docker compose build makes those that the Compose file builds"}
	if got := absentImages(context.Background(), plan); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	engine.Close()
	if got := absentImages(context.Background(), plan); len(got) > 0 {
		t.Errorf("an engine that does not answer: %q", got)
	}
}
