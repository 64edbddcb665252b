import { readTerminalEnd, type TerminalResize, terminalRoute } from '@svc/contract/daemon/terminal'
import { FitAddon } from '@xterm/addon-fit'
import { type ITheme, Terminal } from '@xterm/xterm'
import '@xterm/xterm/css/xterm.css'
import { useEffect, useRef } from 'react'

/** Without a reason, the connection broke. */
export interface TerminalEnded {
  reason: string | null
  /** The start of the session whose sandbox it was in. */
  generation: number
}

interface Of {
  generation: number
  onEnd: (ended: TerminalEnded) => void
  onLeave: () => void
}

/** One shell, which ends when this component unmounts. */
export function Shell({ projectId, sessionId, ...of }: Of & { projectId: string; sessionId: string }) {
  const place = useRef<HTMLDivElement>(null)
  const latest = useRef(of)
  latest.current = of
  useEffect(() => {
    const url = address(projectId, sessionId)
    const { generation } = latest.current
    const onEnd = (reason: string | null) => latest.current.onEnd({ reason, generation })
    const shell = openShell(place.current!, url, onEnd, () => latest.current.onLeave())
    return () => shell.close()
  }, [projectId, sessionId])
  return <div ref={place} className="min-h-72 flex-1 overflow-hidden rounded-lg border border-line bg-panel p-2" />
}

function address(projectId: string, sessionId: string): URL {
  const path = terminalRoute.replace(':projectId', projectId).replace(':sessionId', sessionId)
  const url = new URL(path, location.origin)
  url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:'
  return url
}

function openShell(place: HTMLElement, url: URL, onEnd: (reason: string | null) => void, onLeave: () => void) {
  const terminal = new Terminal({
    cursorBlink: !matchMedia('(prefers-reduced-motion: reduce)').matches,
    fontFamily: getComputedStyle(place).getPropertyValue('--font-mono') || 'monospace',
    fontSize: 13,
    scrollback: 5_000,
    screenReaderMode: true,
    theme: themeOf(place),
  })
  const fit = new FitAddon()
  terminal.loadAddon(fit)
  terminal.open(place)
  fit.fit()
  url.searchParams.set('columns', String(terminal.cols))
  url.searchParams.set('rows', String(terminal.rows))
  const socket = new WebSocket(url)
  socket.binaryType = 'arraybuffer'
  let reason: string | null = null
  let isOpen = false
  socket.addEventListener('open', () => {
    isOpen = true
    terminal.focus()
  })
  socket.addEventListener('message', ({ data }: MessageEvent<ArrayBuffer | string>) => {
    if (typeof data === 'string') reason = readTerminalEnd(data)?.reason ?? reason
    else terminal.write(new Uint8Array(data))
  })
  socket.addEventListener('close', () => {
    terminal.options.disableStdin = true
    onEnd(reason ?? (isOpen ? null : couldNotOpen))
  })
  const send = (bytes: Uint8Array<ArrayBuffer> | string) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(bytes)
  }
  const encoder = new TextEncoder()
  terminal.onData((text) => send(encoder.encode(text)))
  terminal.onBinary((text) => send(Uint8Array.from(text, (character) => character.charCodeAt(0))))
  terminal.onResize(({ cols, rows }) =>
    send(JSON.stringify({ type: 'resize', columns: cols, rows } satisfies TerminalResize)),
  )
  // The shell uses Tab and Escape, so leaving it needs its own key.
  terminal.attachCustomKeyEventHandler((event) => {
    if (!(event.ctrlKey && event.shiftKey && event.key === 'ArrowUp')) return true
    if (event.type === 'keydown') onLeave()
    return false
  })
  const unfollowTheme = followTheme(() => {
    terminal.options.theme = themeOf(place)
  })
  const resized = new ResizeObserver(() => fit.fit())
  resized.observe(place)
  return {
    close() {
      resized.disconnect()
      unfollowTheme()
      socket.close()
      terminal.dispose()
    },
  }
}

/** A browser does not report why a WebSocket was refused. */
const couldNotOpen =
  "Couldn't open the terminal. Check that the session is running and that you can write to the project."

/** The tokens of the page as colors that the terminal reads: `light-dark()` is resolved by the element that uses it. */
function themeOf(place: HTMLElement): ITheme {
  const probe = document.createElement('span')
  place.append(probe)
  const color = (token: string) => {
    probe.style.color = `var(--color-${token})`
    return getComputedStyle(probe).color
  }
  const theme = Object.fromEntries(Object.entries(tokens).map(([name, token]) => [name, color(token)]))
  probe.remove()
  return theme
}

/** Every color has enough contrast on the background in both themes. */
const tokens = {
  ...{ background: 'panel', foreground: 'text', cursor: 'accent', cursorAccent: 'panel' },
  ...{ selectionBackground: 'selected', selectionInactiveBackground: 'hover' },
  ...{ black: 'dim', brightBlack: 'faint', white: 'text', brightWhite: 'text' },
  ...{ red: 'bad', brightRed: 'bad', green: 'good', brightGreen: 'good', yellow: 'warn', brightYellow: 'warn' },
  ...{ blue: 'accent', brightBlue: 'accent', magenta: 'merged', brightMagenta: 'merged' },
  ...{ cyan: 'info', brightCyan: 'info' },
} as const

/** The theme changes with the system's, or when the user chooses another one. */
function followTheme(onChange: () => void): () => void {
  const system = matchMedia('(prefers-color-scheme: dark)')
  system.addEventListener('change', onChange)
  const chosen = new MutationObserver(onChange)
  chosen.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
  return () => {
    system.removeEventListener('change', onChange)
    chosen.disconnect()
  }
}
