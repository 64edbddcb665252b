/** What a copy on another server costs: a merge and a push with `SVC_REPLICA=sync` beside those without a copy. */
import { replicaFigures } from './replica/merges.ts'
import { printFigures, rounds } from './report/figures.ts'

printFigures('A copy of the repository on another server', await replicaFigures(rounds(60)))
