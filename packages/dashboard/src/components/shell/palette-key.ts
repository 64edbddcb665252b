const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent)

/** The key that opens the palette, as a person reads it and as a screen reader is given it. */
export const paletteKey = isApple ? { shown: '⌘K', spoken: 'Meta+K' } : { shown: 'Ctrl K', spoken: 'Control+K' }

export const sendKey = isApple ? '⌘ Enter' : 'Ctrl Enter'
