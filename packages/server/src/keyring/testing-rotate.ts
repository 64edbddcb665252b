/** A process that changes the master key and can crash at a failpoint. Loading the whole server would take three times as long. */
import { readConfig } from '../config.ts'
import { armFailpoints } from '../failpoint.ts'
import { rotateKeyOf } from './rotate-command.ts'

const config = readConfig()
armFailpoints(config.failpoints)
process.stdout.write(JSON.stringify(await rotateKeyOf(config)))
