import { readTerminalEnd, type TerminalResize, terminalRoute } from '@svc/contract/daemon/terminal'
import { FitAddon } from '@xterm/addon-fit'
import { type ITheme, Terminal } from '@xterm/xterm'
import '@xterm/xterm/css/xterm.css'
import { useEffect, useRef } from 'react'

interface Ends {
  onEnd: (reason: string) => void
  onLeave: () => void
}

/** One shell, which ends when this component unmounts. */
export function Shell({ projectId, sessionId, ...ends }: Ends & { projectId: string; sessionId: string }) {
  const place = useRef<HTMLDivElement>(null)
  const latest = useRef(ends)
  latest.current = ends
  useEffect(() => {
    const url = address(projectId, sessionId)
    const shell = openShell(place.current!, url, latest.current.onEnd, () => latest.current.onLeave())
    return () => shell.close()
  }, [projectId, sessionId])
  return (
    <div ref={place} className="h-[calc(100dvh-16rem)] min-h-72 overflow-hidden rounded-lg border border-line p-2" />
  )
}

function address(projectId: string, sessionId: string): URL {
  const path = terminalRoute.replace(':projectId', projectId).replace(':sessionId', sessionId)
  const url = new URL(path, location.origin)
  url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:'
  return url
}

function openShell(place: HTMLElement, url: URL, onEnd: (reason: string) => void, onLeave: () => void) {
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
    onEnd(
      reason ?? (isOpen ? 'The connection ended because the session stopped or you were signed out.' : couldNotOpen),
    )
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

/** The page's colors, so that colored output is readable on them. */
function themeOf(place: HTMLElement): ITheme {
  const style = getComputedStyle(place)
  const isDark = matchesDark()
  return {
    background: style.backgroundColor === 'rgba(0, 0, 0, 0)' ? (isDark ? '#0f1215' : '#ffffff') : style.backgroundColor,
    foreground: isDark ? '#e8ebef' : '#171b21',
    cursor: isDark ? '#9db2ff' : '#3451d1',
    selectionBackground: isDark ? '#3a4664' : '#c8d2ff',
    ...(isDark ? {} : lightColors),
  }
}

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

function matchesDark(): boolean {
  const { theme } = document.documentElement.dataset
  return theme === undefined ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark'
}

/** The default colors are made for black. On white they must be darker. */
const lightColors: ITheme = {
  green: '#18703a',
  brightGreen: '#18703a',
  yellow: '#8a5300',
  brightYellow: '#8a5300',
  cyan: '#0b6a75',
  brightCyan: '#0b6a75',
  blue: '#3451d1',
  brightBlue: '#3451d1',
  magenta: '#6d3fb8',
  brightMagenta: '#6d3fb8',
  red: '#b3261e',
  brightRed: '#b3261e',
  white: '#555d69',
  brightWhite: '#171b21',
}
