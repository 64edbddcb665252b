import { Check, Copy } from 'lucide-react'
import { useState } from 'react'

const isId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The branch of a session is named by its id, which is too long to read. Other names are whole. */
export const shortBranch = (name: string) => (isId.test(name) ? name.slice(0, 8) : name)

/** The title and the copy are the whole name. */
export function BranchName({ name }: { name: string }) {
  const [copied, setCopied] = useState(false)
  const Icon = copied ? Check : Copy
  return (
    <span className="inline-flex max-w-full items-center gap-0.5 align-bottom">
      <code title={name} className="min-w-0 max-w-48 truncate rounded-sm bg-hover px-1.5 py-0.5 font-mono text-xs">
        {shortBranch(name)}
      </code>
      <button
        type="button"
        aria-label={`Copy the branch name ${name}`}
        title="Copy the branch name"
        className="grid size-6 flex-none place-items-center rounded-sm text-faint hover:bg-hover hover:text-text"
        onClick={async () => {
          await navigator.clipboard.writeText(name)
          setCopied(true)
        }}
        onBlur={() => setCopied(false)}
      >
        <Icon aria-hidden className="size-3.5" />
        <span className="sr-only" aria-live="polite">
          {copied ? 'Copied' : ''}
        </span>
      </button>
    </span>
  )
}
