package rerun

import "testing"

// Copies that one process makes at the same time have different names, of at most 32 characters.
func TestNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 20 {
		name := newName()
		if seen[name] || len(name) > 32 {
			t.Fatalf("%s: a second time, or too long", name)
		}
		seen[name] = true
	}
}
