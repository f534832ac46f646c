// What of the library is visible outside its shared form. The library is built with hidden
// visibility; TALLYSTICK_EXPORT marks the classes and functions that programs link to.
#pragma once

#define TALLYSTICK_EXPORT [[gnu::visibility("default")]]
