package archtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Tree is a set of text files. Open it with [OpenTree] or [TreeOf].
type Tree struct {
	files map[string][]byte
}

// OpenTree reads every text file below dir that git tracks or would add: what is ignored is not looked at, and what
// is new is looked at before it is committed. Binary files are left out.
func OpenTree(ctx context.Context, dir string) (Tree, error) {
	// The list is only read, so it does not matter whose checkout this is.
	out, err := output(ctx, dir, "git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return Tree{}, err
	}
	names := strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	if err := readFolders(os.DirFS(dir), names); err != nil {
		return Tree{}, err
	}
	return TreeOf(os.DirFS(dir), names)
}

// readFolders lists every folder that holds one of the names. The lists are not needed: go test notices the reading
// and does not repeat a cached verdict when a file has appeared, which it cannot know from our calls of git and go.
func readFolders(fsys fs.FS, names []string) error {
	seen := make(map[string]bool)
	for _, name := range names {
		for folder := path.Dir(name); !seen[folder]; folder = path.Dir(folder) {
			seen[folder] = true
			if _, err := fs.ReadDir(fsys, folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("list the source tree: %w", err)
			}
		}
	}
	return nil
}

// TreeOf reads the named files. A file that is gone meanwhile is left out, and so is a binary one.
func TreeOf(fsys fs.FS, names []string) (Tree, error) {
	tree := Tree{files: make(map[string][]byte, len(names))}
	for _, name := range names {
		text, err := fs.ReadFile(fsys, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Tree{}, fmt.Errorf("read the source tree: %w", err)
		}
		if !bytes.ContainsRune(text, 0) {
			tree.files[name] = text
		}
	}
	return tree, nil
}

// names returns the files that keep says yes to, in order.
func (t Tree) names(keep func(name string) bool) []string {
	var kept []string
	for name := range t.files {
		if keep(name) {
			kept = append(kept, name)
		}
	}
	slices.Sort(kept)
	return kept
}

// has reports whether there is a file of that name, or a folder with files.
func (t Tree) has(name string) bool {
	if _, ok := t.files[name]; ok || name == "." {
		return true
	}
	return len(t.names(func(other string) bool { return strings.HasPrefix(other, name+"/") })) > 0
}

// inTestdata reports whether a file is input of a test rather than source.
func inTestdata(name string) bool {
	return slices.Contains(strings.Split(path.Dir(name), "/"), "testdata")
}
