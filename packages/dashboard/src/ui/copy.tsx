import { useState } from 'react'
import { takesText } from './sanitizing-jsx/element.ts'

/** A command with a button that copies it. */
export function Command({ children }: { children: string }) {
  const [copied, setCopied] = useState(false)
  return (
    <div className="flex items-stretch overflow-hidden rounded-md border border-line bg-sunken">
      <code className="min-w-0 flex-1 overflow-x-auto px-3 py-2 font-mono text-[0.8125rem] whitespace-pre" tabIndex={0}>
        {children}
      </code>
      <button
        type="button"
        className="border-l border-line px-3 text-xs text-dim hover:text-text"
        onClick={async () => {
          await navigator.clipboard.writeText(children)
          setCopied(true)
        }}
      >
        <span aria-live="polite">{copied ? 'Copied' : 'Copy'}</span>
      </button>
    </div>
  )
}

// The button copies the original text; the page shows hidden characters as marks.
Command[takesText] = true
