import { useQuery } from '@tanstack/react-query'
import { durationText } from '@svc/contract/schemas/tool-outcome'
import { Failure } from '../../../components/requests.tsx'
import { PanelSection } from '../../../ui/layout.tsx'
import { withCode } from '../../../ui/text.tsx'
import { type Session, timeline } from '../queries.ts'

/** What each step does, so that the name is true while it runs and after it failed. */
const names: Record<string, string> = {
  queue: 'Wait for a place',
  branch: 'Create branch',
  prepare: 'Prepare sandbox',
  sandbox: 'Start sandbox',
  listen: 'Start daemon',
  clone: 'Clone repository',
  configure: 'Configure',
  setup: 'Run setup commands',
  runtime: 'Start agent runtime',
  prime: 'Prepare agent',
  claim: 'Claim warm sandbox',
  prompt: 'Deliver prompt',
  refresh: 'Refresh',
  wake: 'Wake agent',
  restore: 'Restore saved work',
}

/** Steps that run beside each other are not summed up: from the first to the end of the last. */
export function TimelineSection({ session }: { session: Session }) {
  const found = useQuery(timeline(session))
  const phases = found.data?.phases ?? []
  if (found.isError)
    return (
      <PanelSection title="Timeline">
        <Failure error={found.error} retry={() => void found.refetch()} />
      </PanelSection>
    )
  if (phases.length === 0) return null
  const { status } = session
  const ready = readyMs(phases)
  return (
    <PanelSection
      title="Timeline"
      aside={
        status === 'provisioning'
          ? 'starting…'
          : ready === null
            ? ''
            : `${status === 'failed' ? 'failed after' : 'ready in'} ${durationText(ready)}`
      }
    >
      <table className="w-full">
        <caption className="sr-only">Startup steps</caption>
        <tbody>
          {phases.map((phase, at) => (
            <tr key={at} className="align-top">
              <th scope="row" className="py-0.5 pr-3 text-left font-normal">
                {names[phase.name] ?? phase.name}
                {phase.error !== null && <span className="block text-sm text-bad">{withCode(phase.error)}</span>}
                {phase.note !== null && phase.note !== '' && (
                  <span className="block text-sm text-dim">{phase.note}</span>
                )}
              </th>
              <td className="py-0.5 text-right text-sm whitespace-nowrap text-faint tabular-nums">
                {phase.error !== null && <span className="text-bad">failed · </span>}
                {phase.ms === null ? '…' : durationText(phase.ms)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </PanelSection>
  )
}

const later = new Set(['refresh', 'wake', 'prompt', 'restore'])

function readyMs(phases: readonly { name: string; started_at: string; ms: number | null }[]): number | null {
  const ofStart = phases.filter(({ name }) => !later.has(name))
  const begins = ofStart.map(({ started_at: at }) => Date.parse(at))
  const ends = ofStart.flatMap(({ ms }, at) => (ms === null ? [] : [begins[at]! + ms]))
  return begins.length === 0 || ends.length === 0 ? null : Math.max(...ends) - Math.min(...begins)
}
