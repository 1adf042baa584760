// Package ui embeds the web app. What it embeds is built from src by build.mjs and committed: docs/design/0017.
package ui

import (
	"embed"
	"io/fs"
)

//go:embed dist
var dist embed.FS

// Files returns the files of the app; index.html is its page.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return files
}

// Licenses returns the names, versions and licences of the packages that the app contains.
func Licenses() string {
	text, err := dist.ReadFile("dist/licenses.txt")
	if err != nil {
		panic(err) // the file is embedded
	}
	return string(text)
}
