import { ExternalLink, RotateCw } from 'lucide-react'
import { useState } from 'react'
import { type Action, Button, fieldClass, Form } from '../../../ui/form.tsx'

const other = 'other'

/** Where the frame is: the port, and a path that a person types. The frame tells nobody where its program went. */
export function Toolbar({
  port,
  open,
  path,
  refusal,
  onPort,
  onPath,
  onGo,
  tab,
}: {
  port: number
  /** The ports that programs listen on. Null when the sandbox does not say. */
  open: readonly number[] | null
  path: string
  /** Why nothing can be opened, or null. */
  refusal: string | null
  onPort: (port: number) => void
  /** As it is typed. */
  onPath: (path: string) => void
  onGo: () => void
  tab: Action
}) {
  return (
    <Form className="flex flex-wrap items-center gap-1 border-b border-line p-2" onSubmit={onGo}>
      <Port port={port} open={open} onPort={onPort} />
      <input
        aria-label="Path in the preview"
        value={path}
        onChange={({ target }) => onPath(target.value)}
        placeholder="/"
        autoCapitalize="off"
        autoComplete="off"
        spellCheck={false}
        className={`${fieldClass} min-w-24 flex-1 font-mono text-sm`}
      />
      <Button kind="quiet" aria-label="Reload" title="Reload" disabledReason={refusal} onClick={onGo}>
        <RotateCw aria-hidden className="size-4" />
      </Button>
      <Button kind="quiet" title="Open in a new tab" disabledReason={refusal} action={tab}>
        <ExternalLink aria-hidden className="size-4" />
        <span className="max-xl:sr-only">Open in a new tab</span>
      </Button>
    </Form>
  )
}

function Port({
  port,
  open,
  onPort,
}: {
  port: number
  open: readonly number[] | null
  onPort: (port: number) => void
}) {
  const [typed, setTyped] = useState<string | null>(null)
  const ports = [...new Set([...(open ?? []), port])].sort((one, another) => one - another)
  if (typed === null)
    return (
      <select
        aria-label="Port"
        value={port}
        onChange={({ target }) => (target.value === other ? setTyped('') : onPort(Number(target.value)))}
        className={`${fieldClass} min-h-[calc(1lh+0.625rem)]`}
      >
        {ports.map((each) => (
          <option key={each} value={each}>
            {open === null || open.includes(each) ? `Port ${each}` : `Port ${each} (closed)`}
          </option>
        ))}
        <option value={other}>Other port…</option>
      </select>
    )
  const leave = () => {
    setTyped(null)
    if (/^[1-9]\d{0,4}$/.test(typed) && Number(typed) <= 65_535) onPort(Number(typed))
  }
  return (
    <input
      aria-label="Other port"
      // The person chose it in the list that it replaces.
      ref={(field) => field?.focus()}
      inputMode="numeric"
      value={typed}
      onChange={({ target }) => setTyped(target.value.replace(/\D/g, '').slice(0, 5))}
      onBlur={leave}
      onKeyDown={(event) => {
        if (event.key === 'Escape') setTyped(null)
        if (event.key !== 'Enter') return
        event.preventDefault()
        leave()
      }}
      placeholder="1–65535"
      className={`${fieldClass} w-24`}
    />
  )
}
