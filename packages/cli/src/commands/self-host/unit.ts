import { command } from '../../arguments/command.ts'
import { serverCommand } from '../../self-host/launch.ts'
import { selfHostFile } from '../../self-host/state.ts'

export const unit = command({
  summary: 'Print a systemd service that runs your server',
  about: ['A user service: with lingering enabled it starts at boot, and it restarts after a crash.'],
  scope: 'nothing',
  examples: [
    'svc self-host unit > ~/.config/systemd/user/svc.service',
    'systemctl --user enable --now svc && loginctl enable-linger',
  ],
  async run(ctx) {
    const words = serverCommand().map((word) => `"${word.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%')}"`)
    const env = selfHostFile(ctx, 'env').replaceAll('%', '%%')
    const text = `[Unit]
Description=svc server
After=network-online.target

[Service]
ExecStart=${words.join(' ')}
EnvironmentFile=-${env}
Environment=SVC_LOG=json
Restart=on-failure
RestartSec=2
# It drains within ten seconds.
TimeoutStopSec=30
# Sandboxes are given limits of their own.
Delegate=yes

[Install]
WantedBy=default.target
`
    if (ctx.out.json) return ctx.out.document({ unit: text })
    ctx.out.raw(text)
    ctx.out.note('Before you enable it, stop a server of svc self-host start.')
  },
})
