/** Settings, state and lock are next to the client's configuration. */
import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import type { Context } from '../context.ts'

export type Where = Pick<Context, 'configPath'>

export function selfHostFile(ctx: Where, name: 'env' | 'json' | 'lock'): string {
  return join(dirname(ctx.configPath()), `self-host.${name}`)
}

/** The state of a server beside the usual one, by its data folder. */
export function stateFileOf(ctx: Where, dataDir: string): string {
  const hash = createHash('sha256').update(dataDir).digest('hex').slice(0, 12)
  return join(dirname(ctx.configPath()), `self-host-${hash}.json`)
}
