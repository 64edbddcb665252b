import { Columns2, FolderTree, type LucideIcon, Rows2, Space, WrapText } from 'lucide-react'
import type { ReactNode } from 'react'
import { useStored } from '../../../browser/use-stored.ts'
import { useIsAtLeast } from '../../../browser/use-width.ts'
import { ignoreWhitespace as stored } from '../diff/whitespace.ts'
import { Button } from '../../../ui/form.tsx'
import { showShortcuts } from '../../../ui/use-shortcuts.ts'

export interface View {
  layout: 'split' | 'unified'
  wrap: boolean
  ignoreWhitespace: boolean
  tree: boolean
}

/** The display options, stored in this browser. */
export function useView(): [View, (view: View) => void] {
  const [layout, setLayout] = useStored<View['layout']>('svc-diff-layout', useIsAtLeast(1600) ? 'split' : 'unified')
  // Beside the code, the tree would leave too few columns on a smaller screen.
  const [tree, setTree] = useStored('svc-diff-tree', useIsAtLeast(1280))
  const [wrap, setWrap] = useStored('svc-diff-wrap', false)
  const [ignoreWhitespace, setIgnoreWhitespace] = useStored(...stored)
  const setView = (view: View) => {
    setLayout(view.layout)
    setWrap(view.wrap)
    setIgnoreWhitespace(view.ignoreWhitespace)
    setTree(view.tree)
  }
  return [{ layout, wrap, ignoreWhitespace, tree }, setView]
}

export function Toolbar({
  view,
  onView,
  busy,
  children,
}: {
  view: View
  onView: (view: View) => void
  /** The diff for the new options is still loading. */
  busy: boolean
  children: ReactNode
}) {
  const { layout, wrap, ignoreWhitespace, tree } = view
  return (
    <div role="toolbar" aria-label="Diff options" aria-busy={busy} className="flex flex-wrap items-center gap-2">
      {children}
      {/* They wrap together. */}
      <span className="flex items-center gap-2">
        <Toggle on={tree} onChange={(on) => onView({ ...view, tree: on })}>
          <Named icon={FolderTree} name="File tree" />
        </Toggle>
        <Toggle on={ignoreWhitespace} onChange={(on) => onView({ ...view, ignoreWhitespace: on })}>
          <Named icon={Space} name="Ignore whitespace" />
        </Toggle>
        <Toggle on={wrap} onChange={(on) => onView({ ...view, wrap: on })}>
          <Named icon={WrapText} name="Wrap lines" />
        </Toggle>
        <Button onClick={() => onView({ ...view, layout: layout === 'split' ? 'unified' : 'split' })}>
          {layout === 'split' ? (
            <Named icon={Rows2} name="Unified view" />
          ) : (
            <Named icon={Columns2} name="Split view" />
          )}
        </Button>
        <Button kind="quiet" onClick={showShortcuts} aria-label="Keyboard shortcuts" className="@max-md:hidden">
          ?
        </Button>
      </span>
    </div>
  )
}

/** An icon where the name would not fit beside the other tools. */
function Named({ icon: Icon, name }: { icon: LucideIcon; name: string }) {
  return (
    <>
      <span title={name} className="@4xl:hidden">
        <Icon aria-hidden className="size-4" />
      </span>
      <span className="@max-4xl:sr-only">{name}</span>
    </>
  )
}

interface Toggled {
  on: boolean
  onChange: (on: boolean) => void
  children: ReactNode
  /** For screen readers, where several buttons have the same text. */
  label?: string
  title?: string
}

export function Toggle({ on, onChange, label, title, children }: Toggled) {
  return (
    <Button
      onClick={() => onChange(!on)}
      aria-pressed={on}
      aria-label={label}
      title={title}
      className="aria-pressed:border-accent aria-pressed:bg-selected"
    >
      {children}
    </Button>
  )
}
