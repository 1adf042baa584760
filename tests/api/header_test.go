package api

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestHeaderSays holds heaptap.h to telling of each function where it may be called, in the words that its first page
// explains, and which ones the recorder answers.
func TestHeaderSays(t *testing.T) {
	b, err := os.ReadFile("../../include/heaptap/heaptap.h")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, word := range []string{"//   anywhere ", "//   no handler ", "signal handlers", "monitor's callbacks",
		"before main", "during exit", "None needs a recorder"} {
		if !strings.Contains(text, word) {
			t.Errorf("the first page does not explain %q", word)
		}
	}
	// A block is comments, and functions up to an empty line.
	declared := regexp.MustCompile(`(?m)^(?:static inline|HEAPTAP_INLINE) [^(]*?(heaptap_\w+)\(`)
	where := regexp.MustCompile(`Anywhere\.|No handler[.,]|The same, and ends the measure\.`)
	places, section, found := "", "", map[string]bool{}
	for block := range strings.SplitSeq(text, "\n\n") {
		if m := regexp.MustCompile(`(?m)^// (\w[\w ]*) -{20,}`).FindStringSubmatch(block); m != nil {
			section, places = m[1], where.FindString(block)
		}
		for _, m := range declared.FindAllStringSubmatch(block, -1) {
			name := m[1]
			found[name] = true
			if name != "heaptap_nothing" && where.FindString(block) == "" && places == "" {
				t.Errorf("%s: where it may be called is not said", name)
			}
			if recorder := name == "heaptap_live" || name == "heaptap_dump"; recorder != (section == "The recorder") {
				t.Errorf("%s is in the section %q", name, section)
			}
		}
	}
	members := regexp.MustCompile(`\(\*(\w+)\)\(`)
	table := text[strings.Index(text, "struct heaptap_api {"):]
	for _, m := range members.FindAllStringSubmatch(table[:strings.Index(table, "};")], -1) {
		if !found["heaptap_"+m[1]] {
			t.Errorf("the table's member %s has no function", m[1])
		}
	}
	if len(found) < 20 {
		t.Errorf("%d functions found", len(found))
	}
}
