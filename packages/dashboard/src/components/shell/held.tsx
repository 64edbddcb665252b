import { useQuery } from '@tanstack/react-query'
import { me } from '../../pages/account/queries.ts'
import { Notice } from '../../ui/layout.tsx'
import { Time } from '../../ui/text.tsx'

/** On a server that was restored from a backup, until its operator resumes it. */
export function Held() {
  const held = useQuery(me).data?.held
  if (held === undefined) return null
  return (
    <Notice tone="warn" title="This server was restored and is read-only">
      Everything is as of a backup made <Time at={held.backup_created_at} />. Sessions, triggers, webhooks, channels,
      apps, and checks are on hold until the operator runs <code>svc self-host resume</code>.
    </Notice>
  )
}
