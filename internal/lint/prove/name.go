package prove

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// prefix begins the names of all copies, and of the roles and users that own them.
const prefix = "semel_prove_"

// maxHostBytes keeps a name within the 32 characters that a user of MySQL may have.
const maxHostBytes = 4

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// newName names a copy: by the process, the time and the host that make it.
func newName() string {
	host, _ := os.Hostname() // empty is a name as well
	host = notInName.ReplaceAllString(strings.ToLower(host), "")
	const base = 36
	return prefix + strconv.FormatInt(int64(os.Getpid()), base) + "_" + strconv.FormatInt(time.Now().UnixMilli(), base) + "_" + host[:min(len(host), maxHostBytes)]
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
