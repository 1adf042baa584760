package event

import (
	"strconv"
	"strings"
)

// rankVariables are those by which the launchers of MPI jobs tell a process its rank; the first that is there counts.
var rankVariables = []string{"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PALS_RANKID"}

// Rank is the rank of a process in an MPI job, by its environment; false if it has none.
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
