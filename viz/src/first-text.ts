/** The text that the page begins with: the specification's stack of two Views. */
export const FIRST_TEXT = 'ShapeTracker.from_shape((3,2)).permute((1,0)).reshape((3,2))';
