package event

import (
	"strconv"
	"strings"
)

// rankVariables are the environment variables in which MPI launchers pass a process its rank. The first one that is set
// counts.
var rankVariables = []string{"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PALS_RANKID"}

// Rank returns a process's rank in an MPI job, read from its environment; false if it has none.
func Rank(env []string) (rank uint64, ok bool) {
	for _, name := range rankVariables {
		for _, e := range env {
			if value, found := strings.CutPrefix(e, name+"="); found {
				if rank, err := strconv.ParseUint(value, 10, 32); err == nil {
					return rank, true
				}
			}
		}
	}
	return 0, false
}
