import type { Context } from '../context.ts'
import { withSettings } from '../arguments/shell-word.ts'
import { saveFolder } from './environment.ts'
import { serversBeside } from './state.ts'

/** Where the server that the commands mean does not run, and another one does, such as a copy that replaced it. */
export async function noteBeside(ctx: Context, command: `svc self-host ${string}`): Promise<void> {
  const { io, out } = ctx
  for (const { data_dir: dataDir } of await serversBeside(ctx)) {
    out.warn(`Another server of svc self-host start runs on ${dataDir}.`)
    out.note(`For that one: ${withSettings(command, { ...io.env, SVC_DATA_DIR: dataDir })}`)
    if (!io.env.SVC_DATA_DIR) out.note(`To mean it with every command: ${saveFolder(ctx, dataDir)}`)
  }
}
