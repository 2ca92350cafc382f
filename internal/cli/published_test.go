package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"tare/internal/papers/published"
)

func publishedCommand(t *testing.T, args ...string) (status int, out, problem string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = Main(context.Background(), &App{Args: append([]string{"tare", "published"}, args...), Stdout: &stdout, Stderr: &stderr, Home: t.TempDir()})
	return status, stdout.String(), stderr.String()
}

func TestPublishedListsTheStudies(t *testing.T) {
	status, out, problem := publishedCommand(t)
	if status != 0 || problem != "" {
		t.Fatalf("status %d: %s", status, problem)
	}
	for _, name := range published.Names() {
		if !strings.Contains(out, name) {
			t.Errorf("%s is not listed:\n%s", name, out)
		}
	}
}

func TestClaimsThatDoNotHoldAreFindingsNotErrors(t *testing.T) {
	status, out, _ := publishedCommand(t, "karna-2021", "--claims")
	if status != 0 || !strings.Contains(out, "DO NOT HOLD") || strings.Contains(out, "TABLES") {
		t.Errorf("status %d:\n%s", status, out)
	}
	status, out, _ = publishedCommand(t, "karna-2021", "--json")
	var result struct {
		Study  string
		Claims []struct {
			ID, Outcome string
			Findings    []any
		}
		Scores struct{ Groups []struct{ Sums []any } }
		Tables []any
	}
	if err := json.Unmarshal([]byte(out), &result); status != 0 || err != nil {
		t.Fatalf("status %d: %v", status, err)
	}
	if result.Study != "karna-2021" || len(result.Claims) == 0 || len(result.Claims[0].Findings) == 0 || len(result.Scores.Groups) != 2 || len(result.Tables) == 0 {
		t.Errorf("the JSON lacks parts: %+v", result)
	}
}

func TestAnUnknownPublishedStudyNamesTheNearest(t *testing.T) {
	status, _, problem := publishedCommand(t, "karna-2012")
	if status != ExitBadInput || !strings.Contains(problem, `did you mean "karna-2021"`) {
		t.Errorf("status %d: %s", status, problem)
	}
}
