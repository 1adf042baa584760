package otlp

import "github.com/heaptap/heaptap/internal/push/call"

// Field numbers of ExportProfilesServiceResponse and ExportProfilesPartialSuccess.
const (
	responsePartial                 = 1
	partialRejected, partialMessage = 1, 2
)

// rejected returns how many profiles a response says were rejected, and why. If the response cannot be parsed, it
// returns 0.
func rejected(answer []byte) (n uint64, why string) {
	call.Fields(answer, func(field int, _ uint64, partial []byte) {
		if field == responsePartial {
			call.Fields(partial, func(field int, v uint64, text []byte) {
				switch field {
				case partialRejected:
					n = v
				case partialMessage:
					why = string(text)
				}
			})
		}
	})
	return n, why
}
