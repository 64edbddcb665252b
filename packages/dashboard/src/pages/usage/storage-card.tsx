import { Fragment } from 'react'
import { sizeText } from '@svc/contract/schemas/quotas'
import { Card } from '../../ui/layout.tsx'
import { Meter } from '../../ui/meter.tsx'
import type { Storage } from './queries.ts'

const words = { reached: 'full', near: 'almost full' }

export function StorageCard({ storage }: { storage: Storage }) {
  const { repository_bytes: used, limit_bytes: limit, sessions_limit_bytes } = storage
  const parts = [
    ['Unfinished work', storage.unfinished_work_bytes],
    ['Transcripts', storage.transcript_bytes],
    ['Check logs', storage.check_log_bytes],
  ] as const
  const ofSessions = parts.reduce((total, [, bytes]) => total + bytes, 0)
  return (
    <Card title="Storage">
      <div className="flex flex-col gap-1.5 px-4 py-3 text-sm">
        <Meter
          of="Repository"
          label="Repository storage"
          words={words}
          used={used}
          limit={limit}
          text={`${sizeText(used)} of ${sizeText(limit)}`}
        />
        {used >= limit && <p className="text-dim">Pushes are rejected. You can still read and merge.</p>}
      </div>
      <dl className="grid grid-cols-2 gap-x-4 border-t border-line px-4 py-3 text-sm">
        {parts.map(([name, bytes]) => (
          <Fragment key={name}>
            <dt className="text-dim">{name}</dt>
            <dd className="text-right tabular-nums">{sizeText(bytes)}</dd>
          </Fragment>
        ))}
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
