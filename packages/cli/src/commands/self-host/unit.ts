/** `svc self-host unit`: the server as a systemd service, of a user or of the system. */
import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'
import { command } from '../../arguments/command.ts'
import type { Context } from '../../context.ts'
import { savedFolder, warnOfUnkept } from '../../self-host/environment.ts'
import { serverCommand } from '../../self-host/launch.ts'
import { requireServerProgram } from '../../self-host/require-server.ts'
import { selfHostFile } from '../../self-host/self-host-file.ts'

const ofUser = [
  'mkdir -p ~/.config/systemd/user && svc self-host unit > ~/.config/systemd/user/svc.service',
  'systemctl --user enable --now svc && loginctl enable-linger',
]
const ofSystem = [
  'svc self-host unit --system | sudo tee /etc/systemd/system/svc.service',
  'sudo systemctl enable --now svc',
]

export const unit = command({
  summary: 'Print a systemd service that runs your server',
  about: [
    'A user service: with lingering enabled it starts at boot, and it restarts after a crash. With --system, a service of the system, as the user who runs this command.',
  ],
  scope: 'nothing',
  flags: { system: { kind: 'switch', summary: 'Print a service of the system' } },
  examples: [...ofUser, ofSystem[0]!],
  async run(ctx, { flags }) {
    await requireServerProgram(ctx)
    const text = unitText(ctx, { isOfSystem: flags.system, dataDir: await savedFolder(ctx) })
    await warnOfUnkept(ctx, 'the service')
    if (ctx.out.json) return ctx.out.document({ unit: text })
    ctx.out.raw(text)
    const file = flags.system ? '/etc/systemd/system/svc.service' : '~/.config/systemd/user/svc.service'
    const [save, enable] = flags.system ? ofSystem : ofUser
    ctx.out.note(`Save it as ${file}:`)
    ctx.out.note('  $ ', save!)
    ctx.out.note('Stop a server of svc self-host start. Then enable it:')
    ctx.out.note('  $ ', enable!)
  },
})

/** The manager of a user has no such target. */
const ofNetwork = 'After=network-online.target\nWants=network-online.target\n'

/** A service of a user may not protect the system: that needs rights which its manager lacks. */
const protectedSystem = `# The server and its sandboxes cannot write to /usr, /boot and /etc. Settings that imply NoNewPrivileges, or that hide parts
# of /proc, would keep sandboxes from starting.
ProtectSystem=full
`

/** `userInfo` of the runtime believes $USER. */
const userName = () => execFileSync('id', ['-un'], { encoding: 'utf8' }).trim()

const quoted = (word: string) => `"${word.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%')}"`

/** `env set` cannot save these two: the place of the settings, and a file that the runtime reads. */
function notSaved({ io }: Context): string {
  const lines = ['SVC_CONFIG_FILE', 'NODE_EXTRA_CA_CERTS'].flatMap((name) =>
    io.env[name] ? [`Environment=${quoted(`${name}=${resolve(io.cwd, io.env[name])}`)}\n`] : [],
  )
  return lines.join('')
}

function unitText(ctx: Context, { isOfSystem, dataDir }: { isOfSystem: boolean; dataDir: string }): string {
  const words = serverCommand().map(quoted)
  const env = resolve(ctx.io.cwd, selfHostFile(ctx, 'env')).replaceAll('%', '%%')
  return `[Unit]
Description=svc server
RequiresMountsFor=${quoted(dataDir)}
${isOfSystem ? ofNetwork : ''}
[Service]
${isOfSystem ? `User=${userName()}\n` : ''}ExecStart=${words.join(' ')}
EnvironmentFile=-${env}
Environment=SVC_LOG=json
${notSaved(ctx)}Restart=on-failure
RestartSec=2
# It drains within ten seconds.
TimeoutStopSec=30
# Sandboxes are given limits of their own. They go on while the server restarts: svc self-host stop --sessions ends them.
Delegate=yes
# systemd before 254 does not know it, and warns.
DelegateSubgroup=server
KillMode=process
# A core dump would contain keys.
LimitCORE=0
${isOfSystem ? protectedSystem : ''}
[Install]
WantedBy=${isOfSystem ? 'multi-user.target' : 'default.target'}
`
}
