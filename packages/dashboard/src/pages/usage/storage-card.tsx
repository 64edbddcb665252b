import { sizeText } from '@svc/contract/schemas/quotas'
import { Badge } from '../../ui/badge.tsx'
import { Card } from '../../ui/card.tsx'
import type { Storage } from './queries.ts'

/** The storage that a project uses, with its quotas. */
export function StorageCard({ storage }: { storage: Storage }) {
  const { repository_bytes: used, limit_bytes: limit, unfinished_work_bytes, transcript_bytes } = storage
  const full = used >= limit
  const { check_log_bytes, sessions_limit_bytes } = storage
  const ofSessions = unfinished_work_bytes + transcript_bytes + check_log_bytes
  const near = !full && used >= limit * 0.8
  return (
    <Card title="Storage">
      <div className="flex flex-col gap-1.5 px-4 py-3 text-sm">
        <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <span className="min-w-0 flex-1 font-medium">Repository</span>
          {full && <Badge tone="bad">full</Badge>}
          {near && <Badge tone="warn">almost full</Badge>}
          <span className="text-dim">
            {sizeText(used)} of {sizeText(limit)}
          </span>
        </p>
        <progress
          aria-label="Repository storage"
          max={limit}
          value={Math.min(used, limit)}
          className={`meter h-2 w-full ${full ? 'text-bad' : near ? 'text-warn' : 'text-accent'}`}
        />
        {full && <p className="text-dim">Pushes are rejected. You can still read and merge.</p>}
      </div>
      <dl className="grid grid-cols-2 gap-x-4 border-t border-line px-4 py-3 text-sm">
        <dt className="text-dim">Unfinished work</dt>
        <dd className="text-right tabular-nums">{sizeText(unfinished_work_bytes)}</dd>
        <dt className="text-dim">Transcripts</dt>
        <dd className="text-right tabular-nums">{sizeText(transcript_bytes)}</dd>
        <dt className="text-dim">Check logs</dt>
        <dd className="text-right tabular-nums">{sizeText(check_log_bytes)}</dd>
        <dt className="font-medium">All sessions</dt>
        <dd className="text-right tabular-nums">
          {sizeText(ofSessions)} of {sizeText(sessions_limit_bytes)}
        </dd>
      </dl>
      {ofSessions >= sessions_limit_bytes && (
        <p className="border-t border-line px-4 py-3 text-sm text-bad">
          Sessions can't start because the quota is used up. Delete finished sessions or raise the quota.
        </p>
      )}
    </Card>
  )
}
