/** The drill with bubblewrap. restart-container.test.ts runs it with an engine. */
import { restartDrill } from './restart-drill.ts'

restartDrill(() => ({ env: { SVC_SANDBOX_DRIVER: 'local' } }))
