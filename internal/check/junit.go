package check

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
)

// The elements and attributes that both Jenkins and Maven Surefire know.
type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      string      `xml:"time,attr"` // seconds
	Timestamp string      `xml:"timestamp,attr,omitempty"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    string        `xml:"time,attr"`
	Error   *junitProblem `xml:"error"`
	Failure *junitProblem `xml:"failure"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitProblem struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit collects results as JUnit XML: a test suite for each recording, a test case for each check.
type JUnit struct{ doc junitSuites }

// Add adds the result of a recording, which must be open.
func (j *JUnit) Add(r *Result, style Style) {
	j.doc.Suites = append(j.doc.Suites, junitSuiteOf(r, &style))
}

// Write writes all results.
func (j *JUnit) Write(w io.Writer) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(&j.doc); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func junitSuiteOf(r *Result, style *Style) junitSuite {
	const noTime = "0.000"
	suite := junitSuite{Name: "heaptap " + escape.Terminal(r.File), Time: noTime}
	// A dot separates a package from a class.
	class := "heaptap." + strings.NewReplacer(".", "_", "/", "_").Replace(escape.Terminal(r.File))
	if r.Err != nil {
		suite.Tests, suite.Errors = 1, 1
		suite.Cases = []junitCase{{Name: "readable", Class: class, Time: noTime,
			Error: &junitProblem{Type: "heaptap", Message: escape.Terminal(r.Err.Error())}}}
		return suite
	}
	p := r.Source.Profile
	if p.Process.Started > 0 {
		suite.Timestamp = time.Unix(0, p.Process.Started).UTC().Format("2006-01-02T15:04:05")
	}
	suite.Time = strconv.FormatFloat(float64(p.Duration)/1e9, 'f', 3, 64)
	for i := range r.Checks {
		c := &r.Checks[i]
		k := junitCase{Name: c.Name(), Class: class, Time: noTime, Out: escape.Terminal(c.Text(style.Exact))}
		if c.Failed {
			suite.Failures++
			k.Failure = &junitProblem{Type: c.Name(), Message: k.Out, Text: stacksText(c.Source, c, style)}
			k.Out = ""
		}
		suite.Cases = append(suite.Cases, k)
	}
	suite.Tests = len(suite.Cases)
	return suite
}

// stacksText writes the stacks that make up an excess, one line per frame.
func stacksText(s *query.Source, c *Check, style *Style) string {
	var b strings.Builder
	list, more := c.First(style.Stacks)
	for i := range list {
		fmt.Fprintf(&b, "\n%s", stackText(s, c, &list[i], style))
	}
	if more > 0 {
		fmt.Fprintf(&b, "\nand %s\n", humanize.Plural(uint64(more), "more call stack"))
	}
	return b.String()
}
