// Package browser looks at the server of heaptap open with a real browser.
package browser
