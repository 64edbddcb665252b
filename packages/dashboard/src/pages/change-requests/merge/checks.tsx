import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { isUnanswered } from '../../../api.ts'
import { Failure, Read, useSend } from '../../../components/requests.tsx'
import { type ChangeRequest, checkLog, type Checks, checks, pathOf } from '../queries.ts'
import { Badge, Output, Time, type Tone, withCode } from '../../../ui/text.tsx'
import { Button } from '../../../ui/form.tsx'
import { Notice } from '../../../ui/layout.tsx'

type Check = Checks['checks'][number]

const tones: Record<Check['status'], Tone> = {
  ...{ queued: 'accent', running: 'accent', passed: 'good', failed: 'bad', error: 'bad', cancelled: 'neutral' },
}

/** The failed or running checks that a merge would ignore; null when there are none. */
export function verificationFailureOf(found: Checks | null): string | null {
  if (found === null) return null
  const named = (...statuses: Check['status'][]) =>
    found.checks
      .filter(({ status }) => statuses.includes(status))
      .map(({ name }) => name)
      .join(', ')
  const failed = named('failed', 'error')
  if (failed !== '') return `Checks failed: ${failed}`
  return found.state === 'running' ? `Checks are running: ${named('queued', 'running')}` : null
}

/** How long a check ran, such as `41 s` or `300 ms`; null while it runs. */
export function tookText({ started_at, ended_at }: Check): string | null {
  if (started_at === null || ended_at === null) return null
  const ms = Math.max(0, Date.parse(ended_at) - Date.parse(started_at))
  if (ms < 1000) return `${ms} ms`
  const seconds = Math.round(ms / 1000)
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/** The result of each check with its log. Empty if the project has no checks. */
export function ChecksOf({ cr }: { cr: ChangeRequest }) {
  const { data, error } = useQuery(checks(cr))
  // A notice above the page warns that these results are out of date.
  if (error !== null && (data === undefined || !isUnanswered(error))) return <Failure error={error} />
  if (data === undefined || data.state === 'none') return null
  const failure = verificationFailureOf(data)
  return (
    <section aria-label="Checks" className="flex flex-col gap-2">
      {failure !== null ? (
        <Notice tone={data.state === 'running' ? 'neutral' : 'bad'} title={failure}>
          Checks run on the merged files. You can still merge.
        </Notice>
      ) : data.state === 'passed' ? (
        <p>{data.checks.length === 1 ? 'The check passed.' : `All ${data.checks.length} checks passed.`}</p>
      ) : (
        <p className="text-dim">Checks didn't run: {data.reason ?? 'they stopped before they had a result.'}</p>
      )}
      <ul aria-label="Check results" className="flex flex-col gap-1">
        {data.checks.map((check) => (
          <li key={check.name}>
            <OneCheck cr={cr} check={check} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function OneCheck({ cr, check }: { cr: ChangeRequest; check: Check }) {
  const [open, setOpen] = useState(false)
  const rerun = useSend('POST', '/v1/projects/{projectId}/change-requests/{crId}/checks/rerun', {
    path: pathOf(cr),
    refetch: [['project', cr.project_id, 'checks']],
  })
  const isOver = check.status !== 'queued' && check.status !== 'running'
  const facts = [check.attempt > 1 ? `attempt ${check.attempt}` : null, tookText(check)].filter((fact) => fact !== null)
  return (
    <details
      open={open}
      onToggle={(event) => setOpen(event.currentTarget.open)}
      className="rounded-md border border-line px-3 py-2"
    >
      <summary className="cursor-pointer">
        <span className="font-medium break-all">{check.name}</span>{' '}
        <Badge tone={tones[check.status]}>{check.status}</Badge>{' '}
        <span className="text-sm text-dim">
          {facts.join(' · ')}
          {facts.length > 0 && check.ended_at !== null && ' · '}
          {check.ended_at !== null && <Time at={check.ended_at} />}
        </span>
        {check.reason !== null && <span className="block text-sm text-dim">{withCode(check.reason)}</span>}
      </summary>
      {open && (
        <div className="mt-2 flex flex-col gap-2">
          <code className="font-mono text-xs break-all">{check.command}</code>
          {check.run_id !== null && (
            <Read query={checkLog(cr, check.run_id, isOver)} what="the log">
              {({ lines, truncated }) => (
                <Output label={`Log of ${check.name}`} className="max-h-96" atEnd>
                  {truncated && '… earlier lines omitted\n'}
                  {lines.length === 0 ? 'No output yet.' : lines.map(({ text }) => text).join('\n')}
                </Output>
              )}
            </Read>
          )}
          {cr.status === 'open' && (
            <div>
              <Button
                busy={rerun.isPending}
                disabledReason={isOver ? null : 'The check is still running'}
                onClick={() => rerun.mutate({ name: check.name })}
              >
                Rerun {check.name}
              </Button>
            </div>
          )}
          {rerun.isError && <Failure error={rerun.error} />}
        </div>
      )}
    </details>
  )
}
