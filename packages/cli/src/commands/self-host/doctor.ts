import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { command } from '../../command.ts'
import { Refusal } from '../../errors.ts'
import { bold, dim, green, red, type Styled, yellow } from '../../output.ts'
import { serverCommand, serverEnvironment } from '../../self-host/launch.ts'

const doctorMs = 60_000
const run = promisify(execFile)

interface Report {
  driver: string | null
  ready: boolean
  drivers: {
    name: string
    findings: { name: string; state: 'good' | 'weak' | 'missing'; says: string; mend: string | null }[]
  }[]
}

const marks: Record<Report['drivers'][number]['findings'][number]['state'], Styled> = {
  good: green('✓ '),
  weak: yellow('! '),
  missing: red('✗ '),
}

export const doctor = command({
  summary: 'Examine this machine: can sessions start, how strong are their walls, what mends them',
  about: ['It needs no running server and starts nothing that stays. Exit code 1 when sessions cannot start.'],
  scope: 'nothing',
  args: {},
  flags: {},
  examples: ['svc self-host doctor', 'svc self-host doctor --json'],
  async run(ctx) {
    const { out } = ctx
    const report = await examine(await serverEnvironment(ctx))
    if (out.json) out.document(report)
    else {
      for (const { name, findings } of report.drivers) {
        out.line(bold(name), name === report.driver ? dim('  what sessions get') : '')
        for (const { name: part, state, says, mend } of findings) {
          out.line('  ', marks[state], `${part}: ${says}`)
          if (mend !== null) out.line('      ', dim(mend))
        }
        out.line()
      }
    }
    if (report.ready) return out.note('Sessions can start here.')
    const why = report.driver === null ? 'SVC_SANDBOX_DRIVER is none.' : 'See what is missing above.'
    throw new Refusal('not_available', `Sessions cannot start on this machine. ${why}`)
  },
})

/** The server's own program looks: it knows what it needs, and with which settings it would start. */
async function examine(env: Record<string, string>): Promise<Report> {
  const [program, ...args] = serverCommand()
  try {
    const { stdout } = await run(program, [...args, '--doctor'], { env, timeout: doctorMs })
    return JSON.parse(stdout) as Report
  } catch (error) {
    const said = String((error as { stderr?: string }).stderr ?? '').trim()
    throw new Refusal('not_available', said || 'This machine could not be examined.', { cause: error })
  }
}
