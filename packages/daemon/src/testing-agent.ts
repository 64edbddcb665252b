/** `svc-agent`, run from source. */
import { runAgent } from './main.ts'

await runAgent(process.argv.slice(2))
