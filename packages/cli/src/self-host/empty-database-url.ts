import { quote } from '../arguments/shell-word.ts'
import type { Context } from '../context.ts'
import { Refusal } from '../errors.ts'
import { dataDirOf, serverEnvironment } from './environment.ts'
import { selfHostFile } from './self-host-file.ts'

/** An empty value does not count, since commands that earlier versions printed set one. Those that follow would not, either. */
export async function refuseEmptyUrl(ctx: Context): Promise<void> {
  const env = await serverEnvironment(ctx)
  if (ctx.io.env.DATABASE_URL !== '' || !env.DATABASE_URL) return
  throw new Refusal('not_available', `DATABASE_URL= does not unset the saved setting of ${selfHostFile(ctx, 'env')}`, {
    hint: `To restore into the embedded database, give the restored server settings of its own: put SVC_CONFIG_FILE=${quote(`${dataDirOf(env)}.json`)} in front of this command and of those that follow. To restore into a PostgreSQL, set DATABASE_URL to it. Nothing was changed.`,
  })
}
