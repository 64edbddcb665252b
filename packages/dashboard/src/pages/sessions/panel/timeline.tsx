import { useQuery } from '@tanstack/react-query'
import { Failure } from '../../components/requests.tsx'
import { type Session, timeline } from './queries.ts'

export function Timeline({ session }: { session: Session }) {
  const found = useQuery(timeline(session))
  if (found.isError) return <Failure error={found.error} retry={() => void found.refetch()} />
  const phases = found.data?.phases ?? []
  if (phases.length === 0) return null
  const longest = Math.max(1, ...phases.map(({ ms }) => ms ?? 0))
  return (
    <details open={session.status === 'provisioning' || session.status === 'failed'}>
      <summary className="text-sm text-dim">Startup</summary>
      <table className="mt-2 w-full max-w-xl text-sm">
        <caption className="sr-only">Startup steps</caption>
        <tbody>
          {phases.map((phase, index) => (
            <tr key={index}>
              <th scope="row" className="w-32 py-0.5 pr-3 text-left font-normal">
                {phase.name}
              </th>
              <td className="w-20 pr-3 text-right font-mono text-dim">
                {phase.ms === null ? '…' : `${Math.round(phase.ms)} ms`}
              </td>
              <td>
                {phase.error !== null ? (
                  <span className="text-bad">{phase.error}</span>
                ) : phase.note !== null ? (
                  phase.note
                ) : (
                  <meter className="h-2 w-full" min={0} max={longest} value={phase.ms ?? 0} aria-label={phase.name} />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  )
}
