/** The first start signs the client of this machine in, so that the newcomer's next command works. */
import { homedir } from 'node:os'
import { changeConfig, configPath } from '@svc/cli/config-file'

const builtInUrl = 'http://127.0.0.1:8420'

/** Stores the owner's token for the host `selfhost`, never over one that is there. Answers with the file, or null when it was left alone. */
export async function rememberOwner(owner: { url: string; token: string; dataDir: string }): Promise<string | null> {
  // A service without a user has no HOME.
  const path = configPath({ env: { ...process.env, HOME: homedir() } })
  const { origin } = new URL(owner.url)
  let kept = false
  await changeConfig(path, (config) => {
    config.data_dirs = { ...config.data_dirs, [origin]: owner.dataDir }
    if (config.tokens[origin] !== undefined) return
    config.tokens[origin] = { token: owner.token }
    // A server at another address still belongs to this machine: unless the configuration sets the URL of selfhost, it is here.
    if (config.hosts.selfhost === undefined && origin !== builtInUrl) config.hosts.selfhost = { url: owner.url }
    kept = true
  })
  return kept ? path : null
}
