/** Files for a prompt: chosen, pasted, or dropped, and listed until the prompt is sent. */
import { attachmentBytesMax, attachmentCountMax, refuseAttachments } from '@svc/contract/schemas/attachments'
import { sizeText } from '@svc/contract/schemas/quotas'
import { Paperclip } from 'lucide-react'
import { type ClipboardEvent, type DragEvent, useEffect, useRef, useState } from 'react'
import { ApiError } from '../../../api.ts'
import { useTyped } from '../../../browser/use-stored.ts'
import { Button } from '../../../ui/form.tsx'

interface ChosenFile {
  key: string
  file: File
}

type ChosenFiles = ReturnType<typeof useChosenFiles>

const none: readonly string[] = []

/** A page that was left has no files any more. Their names stay under `form`, if it keeps its text, to say which are missing. */
export function useChosenFiles(form: string | null) {
  const [files, setFiles] = useState<readonly ChosenFile[]>([])
  const [names, keepNames] = useTyped(`svc-files-${form}`, none)
  const [earlier, setEarlier] = useState(form === null ? none : names)
  useEffect(() => {
    const kept = [...missingOf(earlier, files), ...files.map(({ file }) => file.name)]
    if (form !== null) keepNames(kept.length === 0 ? none : kept)
  }, [form, earlier, files, keepNames])
  const [isDraggedOver, setDraggedOver] = useState(false)
  const add = (added: Iterable<File>) => {
    // Read at once: the browser empties the list of a field, and of a drop, and React may run the update later.
    const more = [...added].map((file) => ({ key: crypto.randomUUID(), file }))
    setFiles((before) => [...before, ...more])
  }
  return {
    files,
    isDraggedOver,
    /** Why one prompt cannot carry them. */
    refusal: refuseAttachments(files.map(({ file }) => ({ name: file.name, bytes: file.size })))?.message ?? null,
    add,
    remove: (key: string) => setFiles((before) => before.filter((each) => each.key !== key)),
    clear() {
      setFiles([])
      setEarlier(none)
      // The page may go before its effects run.
      keepNames(none)
    },
    /** The names of files that were chosen before the page was left. */
    missing: missingOf(earlier, files),
    dismissMissing: () => setEarlier(none),
    read: () => readFiles(files.map(({ file }) => file)),
    /** For the element that accepts pasted and dropped files. */
    target: {
      onPaste(event: ClipboardEvent) {
        const { files: pasted, types } = event.clipboardData
        // Office programs add an image of the text to the text.
        if (pasted.length === 0 || types.includes('text/html')) return
        event.preventDefault()
        add(pasted)
      },
      onDragOver(event: DragEvent) {
        if (!event.dataTransfer.types.includes('Files')) return
        event.preventDefault()
        setDraggedOver(true)
      },
      onDragLeave(event: DragEvent) {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setDraggedOver(false)
      },
      onDrop(event: DragEvent) {
        setDraggedOver(false)
        if (event.dataTransfer.files.length === 0) return
        event.preventDefault()
        add(event.dataTransfer.files)
      },
    },
  }
}

const missingOf = (names: readonly string[], files: readonly ChosenFile[]) =>
  names.filter((name) => !files.some(({ file }) => file.name === name))

export function AttachButton({ chosen }: { chosen: ChosenFiles }) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to attach"
        onChange={({ target }) => {
          chosen.add(target.files ?? [])
          // Otherwise the same file could not be chosen again.
          target.value = ''
        }}
      />
      <Button
        title={`Up to ${attachmentCountMax} files of ${sizeText(attachmentBytesMax)} each. You can also paste or drop files.`}
        onClick={() => input.current?.click()}
      >
        <Paperclip aria-hidden className="hidden size-4 @max-2xl:block" />
        <span className="@max-2xl:sr-only">Attach files</span>
      </Button>
    </>
  )
}

function MissingFiles({ chosen: { missing, dismissMissing } }: { chosen: ChosenFiles }) {
  if (missing.length === 0) return null
  return (
    <div role="status" className="flex w-full flex-wrap items-center gap-x-2 text-sm text-dim">
      <p className="min-w-0 flex-1 basis-40">
        {missing.length === 1 ? 'An attachment was' : 'Attachments were'} not kept when you left the page:{' '}
        {missing.join(', ')}. Attach {missing.length === 1 ? 'it' : 'them'} again.
      </p>
      <Button kind="quiet" onClick={dismissMissing}>
        Dismiss
      </Button>
    </div>
  )
}

export function ChosenList({ chosen, className = '' }: { chosen: ChosenFiles; className?: string }) {
  return (
    <div className={`flex w-full flex-col gap-2 empty:hidden ${className}`}>
      <MissingFiles chosen={chosen} />
      {chosen.files.length > 0 && <Chosen chosen={chosen} />}
    </div>
  )
}

function Chosen({ chosen }: { chosen: ChosenFiles }) {
  return (
    <div className="flex w-full min-w-0 flex-col gap-1">
      <ul aria-label="Attachments" className="flex max-h-[30dvh] flex-wrap gap-2 overflow-y-auto">
        {chosen.files.map(({ key, file }) => (
          <li
            key={key}
            className="flex max-w-full items-center gap-2 rounded-md border border-line bg-raised pl-3 text-sm"
          >
            <span className="min-w-0 truncate">{file.name}</span>
            <span className="text-dim whitespace-nowrap">{sizeText(file.size)}</span>
            <Button kind="quiet" aria-label={`Remove ${file.name}`} onClick={() => chosen.remove(key)}>
              ✕
            </Button>
          </li>
        ))}
      </ul>
      {chosen.refusal !== null && (
        <p role="alert" className="text-sm text-bad">
          {chosen.refusal}
        </p>
      )}
    </div>
  )
}

/** In the form that a request sends. */
export async function readFiles(files: readonly File[]) {
  return files.length === 0 ? {} : { attachments: await Promise.all(files.map(readFile)) }
}

function readFile(file: File): Promise<{ name: string; content_base64: string }> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => {
      const url = String(reader.result)
      resolve({ name: file.name, content_base64: url.slice(url.indexOf(',') + 1) })
    }
    reader.onerror = () =>
      reject(
        new ApiError(0, {
          error: `Couldn't read ${file.name}.`,
          code: 'unreadable',
          hint: 'It changed, or it is a folder. Remove it and attach single files.',
        }),
      )
    reader.readAsDataURL(file)
  })
}
