import { type ReactNode, useLayoutEffect, useRef, useState, useSyncExternalStore } from 'react'
import { takesText } from './sanitizing-jsx/element.ts'

export type Tone = 'neutral' | 'good' | 'warn' | 'bad' | 'merged' | 'accent'

const tones: Record<Tone, string> = {
  neutral: 'bg-hover text-dim',
  good: 'bg-good-soft text-good',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  merged: 'bg-merged-soft text-merged',
  accent: 'bg-accent-soft text-accent',
}

/** A state as a word. The color only repeats it. */
export function Badge({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span
      className={`inline-flex min-h-5 items-center gap-1.25 rounded-full px-1.75 text-xs font-semibold whitespace-nowrap before:size-1.5 before:rounded-full before:bg-current ${tones[tone]}`}
    >
      {children}
    </span>
  )
}

const steps: [string, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

/** Not by `Intl.RelativeTimeFormat`: its first use takes longer than rendering a page's header. */
export function ago(iso: string, now: number): string {
  const seconds = (now - Date.parse(iso)) / 1000
  const [unit, size] = steps.find(([, size]) => Math.abs(seconds) >= size) ?? ['second', 1]
  if (Math.abs(seconds) < 10) return 'just now'
  const count = Math.round(Math.abs(seconds) / size)
  const counted = `${count} ${unit}${count === 1 ? '' : 's'}`
  return seconds > 0 ? `${counted} ago` : `in ${counted}`
}

/** A relative time that updates itself, with the exact time on hover. */
export function Time({ at }: { at: string }) {
  const text = useSyncExternalStore(everyTick, () => ago(at, Date.now()))
  return (
    <time dateTime={at} title={new Date(at).toString()} className="text-sm whitespace-nowrap text-faint">
      {text}
    </time>
  )
}

const tickMs = 10_000
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

/** One timer for all times on the page. */
function everyTick(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => {
    for (const each of listeners) each()
  }, tickMs)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** `atEnd` opens it at its last lines, and stays there while lines are added, until the reader scrolls up. */
export function Output({
  label,
  className,
  atEnd = false,
  children,
}: {
  label?: string
  className: string
  atEnd?: boolean
  children: ReactNode
}) {
  const pane = useRef<HTMLPreElement>(null)
  const isAtEnd = useRef(atEnd)
  useLayoutEffect(() => {
    if (pane.current !== null && isAtEnd.current) pane.current.scrollTop = pane.current.scrollHeight
  }, [children])
  return (
    <pre
      ref={pane}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = atEnd && scrollHeight - scrollTop - clientHeight < 8
      }}
      tabIndex={0}
      aria-label={label}
      className={`overflow-auto rounded-md border border-line bg-sunken p-3 text-xs break-all whitespace-pre-wrap ${className}`}
    >
      {children}
    </pre>
  )
}

/** Scrolls sideways. With `wraps`, for several commands in a narrow panel, the rest of a long line is indented below it. */
export function Command({ wraps = false, children }: { wraps?: boolean; children: string }) {
  const [copied, setCopied] = useState(false)
  return (
    <div className="flex items-stretch overflow-hidden rounded-md border border-line bg-sunken">
      <code
        className={`min-w-0 flex-1 overflow-x-auto px-3 py-2 font-mono text-[0.8125rem] ${wraps ? 'wrap-anywhere whitespace-pre-wrap' : 'whitespace-pre'}`}
        tabIndex={0}
      >
        {wraps
          ? children.split('\n').map((line, at) => (
              <span key={at} className="block pl-6 -indent-6">
                {line}
              </span>
            ))
          : children}
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

/** Shows text between backticks as code, such as a command in a message of the service. */
export const withCode = (text: string) =>
  text.split(/`([^`]+)`/).map((part, at) =>
    at % 2 === 0 ? (
      part
    ) : (
      <code key={at} className="font-mono">
        {part}
      </code>
    ),
  )
