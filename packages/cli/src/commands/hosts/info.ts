import { connect } from '../../api.ts'
import { command } from '../../arguments/command.ts'
import { activeHostName, findHost, knownHosts } from '../../config/hosts.ts'
import { bold, green, red, yellow } from '../../terminal/output.ts'

/** Long enough for a distant server, short enough for one that is down. */
const answerMs = 5000

export const info = command({
  summary: 'Show a host: its URL, whether it responds, whether you are signed in',
  scope: 'nothing',
  args: { name: { summary: 'Name of the host (default: the active host)', names: 'host', optional: true } },
  examples: ['svc hosts info', 'svc hosts info work --json'],
  async run(ctx, { args }) {
    const config = await ctx.config()
    const active = activeHostName(config)
    const host = findHost(knownHosts(config, ctx.io.env), args.name ?? active)
    // Send no token: this only checks whether a server answers.
    const ready =
      host.base === null
        ? null
        : await connect(ctx.io, { name: host.name, base: host.base }, null)
            .get('/v1/ready', { signal: AbortSignal.timeout(answerMs) })
            .catch(() => null)
    const found = {
      name: host.name,
      url: host.base,
      active: host.name === active,
      signed_in: host.origin !== null && Object.hasOwn(config.tokens, host.origin),
      built_in: host.builtIn,
      server: ready,
    }
    const { out } = ctx
    if (out.json) return out.document(found)
    out.line(bold(found.name), found.active ? ' (active)' : '')
    out.fields([
      ['address', found.url ?? 'not part of this build'],
      ['token', found.signed_in ? 'signed in' : yellow('none: svc login')],
      ['server', ready === null ? red('does not answer') : green(`ready, version ${ready.version}`)],
      [
        'sandboxes',
        ready === null
          ? null
          : ready.sandbox.ready
            ? ready.sandbox.driver
            : yellow(ready.sandbox.problem ?? 'not ready'),
      ],
      ['to fix', ready?.sandbox.install ?? null],
      ['model', ready?.model ?? null],
    ])
  },
})
