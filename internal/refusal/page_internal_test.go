package refusal

import "testing"

// The pages about something that may have happened have texts, which then offer to do it once more.
func TestMayHaveHappened(t *testing.T) {
	t.Parallel()
	for lang, texts := range Texts() {
		for _, id := range mayHaveHappened() {
			if texts.Pages[id].Detail == "" || texts.Once == "" {
				t.Errorf("%s: %s has no texts", lang, id)
			}
		}
	}
}
