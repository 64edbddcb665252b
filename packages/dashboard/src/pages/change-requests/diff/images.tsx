/** Both sides of a changed image: beside each other, under a swipe, or faded into each other. */
import { sizeText } from '@svc/contract/schemas/quotas'
import { type CSSProperties, type ReactNode, useEffect, useId, useState } from 'react'
import { useStored } from '../../../browser/use-stored.ts'
import { Loading } from '../../../ui/layout.tsx'
import { fileBytes } from './context.ts'

interface Side {
  at: string
  path: string
}
interface Loaded {
  url: string
  bytes: number
  width: number
  height: number
}
type Shown = Loaded | 'loading' | 'failed'

/** Null where the image was added or deleted. */
export function ImageComparison({
  projectId,
  before,
  after,
}: {
  projectId: string
  before: Side | null
  after: Side | null
}) {
  const [old, now] = [useImage(projectId, before), useImage(projectId, after)]
  const [mode, setMode] = useStored<Mode>('svc-image-comparison', 'side')
  const path = (after ?? before)?.path ?? ''
  if (old === 'loading' || now === 'loading') return <Loading what="the image" />
  const canOverlay = isLoaded(old) && isLoaded(now)
  const shown = canOverlay && mode in modes ? mode : 'side'
  return (
    <div className="flex w-full min-w-0 flex-col gap-2">
      {canOverlay && <Modes mode={shown} onMode={setMode} />}
      {canOverlay && shown !== 'side' ? (
        <Overlay key={shown} mode={shown} old={old} now={now} path={path} />
      ) : (
        <div className="grid grid-cols-[repeat(auto-fit,minmax(min(100%,9rem),1fr))] gap-4">
          {before !== null && <Beside image={old} path={path} word="Before" />}
          {after !== null && <Beside image={now} path={path} word="After" />}
        </div>
      )}
    </div>
  )
}

const isLoaded = (image: Shown | null): image is Loaded => image !== null && typeof image === 'object'

const modes = { side: 'Side by side', swipe: 'Swipe', onion: 'Onion skin' } as const
type Mode = keyof typeof modes

function Modes({ mode, onMode }: { mode: Mode; onMode: (mode: Mode) => void }) {
  const name = useId()
  return (
    <fieldset className="flex flex-wrap gap-x-4 gap-y-1 text-sm">
      <legend className="sr-only">How to compare</legend>
      {(Object.keys(modes) as Mode[]).map((each) => (
        <label key={each} className="flex items-center gap-1.5">
          <input type="radio" name={name} checked={mode === each} onChange={() => onMode(each)} />
          {modes[each]}
        </label>
      ))}
    </fieldset>
  )
}

/** Transparent parts show the squares. */
const squares =
  'border border-line bg-[repeating-conic-gradient(var(--color-sunken)_0_25%,var(--color-ground)_0_50%)] bg-[length:16px_16px]'

function Beside({ image, path, word }: { image: Shown | null; path: string; word: 'Before' | 'After' }) {
  return (
    <figure className="flex min-w-0 flex-col gap-1">
      <figcaption className="text-xs text-dim">
        {word}
        {isLoaded(image) && `: ${facts(image)}`}
      </figcaption>
      {isLoaded(image) ? (
        <img
          src={image.url}
          alt={`${path}, ${word.toLowerCase()} the change`}
          className={`max-h-72 max-w-full self-start ${squares}`}
        />
      ) : (
        <p className="text-sm text-dim">Can't show this image.</p>
      )}
    </figure>
  )
}

/** An SVG without a size has none. */
const facts = ({ width, height, bytes }: Loaded) =>
  `${width > 0 && height > 0 ? `${width} × ${height} px, ` : ''}${sizeText(bytes)}`

/** Icons are enlarged, so that there is something to swipe over. */
const smallestPx = 160
const highestPx = 448

function Overlay({ mode, old, now, path }: { mode: 'swipe' | 'onion'; old: Loaded; now: Loaded; path: string }) {
  const [percent, setPercent] = useState(50)
  const width = Math.max(old.width, now.width, 1)
  const height = Math.max(old.height, now.height, 1)
  const scale = Math.min(Math.max(1, Math.floor(smallestPx / width)), highestPx / height)
  const place = (image: Loaded): CSSProperties => ({
    width: `${(100 * image.width) / width}%`,
    height: `${(100 * image.height) / height}%`,
    imageRendering: scale > 1 ? 'pixelated' : 'auto',
  })
  const over = mode === 'swipe' ? { clipPath: `inset(0 0 0 ${percent}%)` } : { opacity: percent / 100 }
  const under = mode === 'swipe' ? { clipPath: `inset(0 ${100 - percent}% 0 0)` } : {}
  return (
    <div className="flex flex-col gap-2" style={{ width: `min(100%, ${width * scale}px)` }}>
      <div className={`relative overflow-hidden ${squares}`} style={{ aspectRatio: `${width} / ${height}` }}>
        <Layer style={under}>
          <img src={old.url} alt={`${path}, before the change`} style={place(old)} />
        </Layer>
        <Layer style={over}>
          <img src={now.url} alt={`${path}, after the change`} style={place(now)} />
        </Layer>
        {mode === 'swipe' && (
          <span aria-hidden="true" className="absolute inset-y-0 w-px bg-accent" style={{ left: `${percent}%` }} />
        )}
      </div>
      <input
        type="range"
        min={0}
        max={100}
        value={percent}
        onChange={({ target }) => setPercent(Number(target.value))}
        aria-label={mode === 'swipe' ? 'Border between before and after' : 'Opacity of the image after the change'}
        className="w-full accent-accent"
      />
      <p className="flex flex-wrap justify-between gap-x-4 text-xs whitespace-nowrap text-dim">
        <span>Before: {facts(old)}</span>
        <span>After: {facts(now)}</span>
      </p>
    </div>
  )
}

/** The whole box, so that both images are cut at the same place. */
function Layer({ style, children }: { style: CSSProperties; children: ReactNode }) {
  return (
    <div className="absolute inset-0" style={style}>
      {children}
    </div>
  )
}

/** Rendered from bytes, because the document's policy allows no repository URL. Null for no side. */
function useImage(projectId: string, side: Side | null): Shown | null {
  const [image, setImage] = useState<Shown>('loading')
  const at = side?.at
  const path = side?.path
  useEffect(() => {
    if (at === undefined || path === undefined) return undefined
    const stop = new AbortController()
    let url: string | null = null
    setImage('loading')
    fileBytes(projectId, at, path, stop.signal)
      .then(async (bytes) => {
        const type = path.toLowerCase().endsWith('.svg') ? 'image/svg+xml' : 'image/*'
        url = URL.createObjectURL(new Blob([bytes], { type }))
        const { width, height } = await sizeOf(url)
        if (!stop.signal.aborted) setImage({ url, bytes: bytes.byteLength, width, height })
      })
      .catch(() => stop.signal.aborted || setImage('failed'))
    return () => {
      stop.abort()
      if (url !== null) URL.revokeObjectURL(url)
    }
  }, [projectId, at, path])
  return side === null ? null : image
}

function sizeOf(url: string): Promise<{ width: number; height: number }> {
  return new Promise((resolve, reject) => {
    const image = new Image()
    image.addEventListener('load', () => resolve({ width: image.naturalWidth, height: image.naturalHeight }))
    image.addEventListener('error', () => reject(new Error('This is no image.')))
    image.src = url
  })
}
