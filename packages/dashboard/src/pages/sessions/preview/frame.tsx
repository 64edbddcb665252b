import { useQuery } from '@tanstack/react-query'
import { useCallback, useRef, useState } from 'react'
import { QueryResult } from '../../../components/requests.tsx'
import { Button } from '../../../ui/form.tsx'
import { Notice } from '../../../ui/layout.tsx'
import { previewTicket, type Session } from '../queries.ts'
import { urlAt } from './address.ts'
import { useShield } from './use-shield.ts'

/**
 * The program is hostile: an agent wrote it. It runs scripts on an origin of its own, and nothing else that a browser can
 * withhold: it does not leave the frame, open windows, download, show dialogs, or take the focus from the page.
 */
const sandbox = 'allow-scripts allow-same-origin allow-forms'
/** No feature, also those that frames have by default. */
const features = ['focus-without-user-activation', 'storage-access', 'picture-in-picture']
  .map((feature) => `${feature} 'none'`)
  .join('; ')

/** Each mount signs in anew. */
export function PreviewFrame({
  session,
  port,
  path,
  onReload,
}: {
  session: Session
  port: number
  path: string
  onReload: () => void
}) {
  const [visit] = useState(() => crypto.randomUUID())
  const [isClosed, setClosed] = useState(false)
  const close = useCallback(() => setClosed(true), [])
  const ticket = useQuery(previewTicket(session, port, visit))
  if (isClosed)
    return (
      <div className="p-4">
        <Notice
          tone="warn"
          title="The preview was closed"
          action={<Button onClick={onReload}>Open the preview again</Button>}
        >
          Its program took the keyboard focus again and again while you typed on this page.
        </Notice>
      </div>
    )
  return (
    <QueryResult of={ticket} what="the preview">
      {({ url }) => <Frame title={`Preview of port ${port}`} src={urlAt(url, path)} onTaken={close} />}
    </QueryResult>
  )
}

function Frame({ onTaken, ...named }: { title: string; src: string; onTaken: () => void }) {
  const frame = useRef<HTMLIFrameElement>(null)
  const area = useRef<HTMLDivElement>(null)
  useShield(frame, area, onTaken)
  return (
    <div ref={area} className="flex min-h-[70dvh] flex-1 bg-[Canvas] lg:min-h-0">
      <iframe
        ref={frame}
        sandbox={sandbox}
        allow={features}
        referrerPolicy="no-referrer"
        className="w-full"
        {...named}
      />
    </div>
  )
}
