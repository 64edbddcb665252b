/** Asks for a model at the first start of a server in the background, as the foreground does. */
import { access, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { modelQuestionName } from '@svc/contract/daemon/owner-socket'
import { ServiceError } from '@svc/contract/errors'
import { connect } from '../api.ts'
import { readConfig } from '../config/config-file.ts'
import type { Context } from '../context.ts'
import { askModel, type GivenModel } from './ask-model.ts'
import type { ServingServer } from './state.ts'
import type { Client } from '../requests.ts'

/** Returns the name of the chosen model, or null. A skipped question is not asked again. */
export async function askFirstModel(ctx: Context, server: ServingServer): Promise<string | null> {
  const asked = join(server.data_dir, modelQuestionName)
  const token = (await readConfig(ctx.configPath())).tokens[server.url]?.token
  // Another user owns this server and sets its model.
  if (token === undefined || (await exists(asked))) return null
  const api = connect(ctx.io, { name: 'selfhost', base: server.url }, token)
  if ((await api.get('/v1/models')).models.length > 0) return null
  const given = await untilTaken(ctx, api)
  if (given === 'interrupted') return null
  await writeFile(asked, 'svc asked for the model of this server.\n', { mode: 0o600 })
  return given?.models[0] ?? null
}

async function untilTaken({ io }: Context, api: Client): Promise<GivenModel | null | 'interrupted'> {
  const streams = { input: io.stdin as Readable, output: io.stderr.stream as Writable, signal: io.signal }
  for (let problem: string | null = null; ;) {
    const given = await askModel({ problem, ...streams })
    if (given === null || given === 'interrupted') return given
    const { url, models, key } = given
    const body = { url, models, shape: 'openai' as const, ...(key === null ? {} : { key }) }
    try {
      await api.put('/v1/models/upstream', { body })
      return given
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      problem = [error.message, error.hint].filter((each) => each !== null).join(' ')
    }
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
