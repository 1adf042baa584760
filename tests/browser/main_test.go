package browser

import (
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }
