// Package licenses has the licences of what the heaptap command contains: Go modules, and the packages of the web app.
package licenses

import (
	_ "embed"
	"strings"

	"github.com/heaptap/heaptap/ui"
)

// goModules is made by the test: go test ./internal/licenses -update.
//
//go:embed go.txt
var goModules string

// rule separates licences.
var rule = "\n" + strings.Repeat("-", 80) + "\n\n"

// Text returns what the command contains: for each part its name, version and licence.
func Text() string {
	const heading = "The heaptap command contains the following, besides heaptap itself (Apache-2.0).\n"
	return heading + rule + goModules + rule + ui.Licenses()
}
