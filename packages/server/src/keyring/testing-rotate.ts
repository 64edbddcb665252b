/** A process that changes the master key and may be told to die over it; the whole server takes three times as long to load. */
import { readConfig } from '../config.ts'
import { armFailpoints } from '../failpoint.ts'
import { rotateKeyOf } from './rotate-command.ts'

const config = readConfig()
armFailpoints(config.failpoints)
process.stdout.write(JSON.stringify(await rotateKeyOf(config)))
