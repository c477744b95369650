package rerun

import (
	"crypto/rand"
	"os"
	"strconv"
	"strings"
	"time"
)

// prefix begins the names of all copies, and of the roles and users that own them.
const prefix = "semel_prove_"

// chanceBytes keeps a name within the 32 characters that a user of MySQL may have.
const chanceBytes = 5

// newName names a copy: by the process and the time that make it, and by chance, which tells those of two processes on
// different hosts apart, and those that one process makes within a millisecond.
func newName() string {
	const base = 36
	return prefix + strconv.FormatInt(int64(os.Getpid()), base) + "_" + strconv.FormatInt(time.Now().UnixMilli(), base) + "_" + strings.ToLower(rand.Text()[:chanceBytes])
}

// emptyWords are words in the name of a database without anything of value.
var emptyWords = set("test tests testing scratch dev develop development tmp temp sandbox ci playground") //nolint:gochecknoglobals // constant

// scratchName reports whether the name of a database says that it holds nothing of value.
func scratchName(name string) bool {
	for word := range strings.FieldsFuncSeq(strings.ToLower(name[strings.LastIndexAny(name, `/\`)+1:]), func(r rune) bool { return r < 'a' || r > 'z' }) {
		if emptyWords[word] {
			return true
		}
	}
	return false
}
