"""What students really write in lab 6: wrong answers, the diagnosis each must get, and other right ones."""

from pioneers.checks.bank import Right, Wrong

WRONG = {
    "6.1": [
        Wrong(
            "a patch is a square, as in the lecture",
            "square patches only",
            """
def cut(images, patch_height, patch_width):
    B, C, height, width = images.shape
    P = patch_height
    x = images.reshape(B, C, height // P, P, width // P, P).permute(0, 2, 4, 1, 3, 5)
    return x.reshape(B, -1, C * P * P)
""",
        ),
        Wrong(
            "a reshape is enough",
            "a reshape without a transposition",
            """
def cut(images, patch_height, patch_width):
    B, C, height, width = images.shape
    N = (height // patch_height) * (width // patch_width)
    return images.reshape(B, N, C * patch_height * patch_width)
""",
        ),
        Wrong(
            "columns come before rows",
            "patches numbered column by column",
            """
def cut(images, patch_height, patch_width):
    patches = []
    for left in range(0, images.shape[3], patch_width):
        for top in range(0, images.shape[2], patch_height):
            patch = images[:, :, top : top + patch_height, left : left + patch_width]
            patches.append(patch.flatten(1))
    return torch.stack(patches, dim=1)
""",
        ),
        Wrong(
            "inside a patch the order does not matter",
            "the pixels of a patch column by column",
            """
def cut(images, patch_height, patch_width):
    B, C, height, width = images.shape
    x = images.reshape(B, C, height // patch_height, patch_height, width // patch_width, patch_width)
    return x.permute(0, 2, 4, 1, 5, 3).flatten(3).flatten(1, 2)
""",
        ),
        Wrong(
            "an image is (width, height)",
            "columns before rows, everywhere",
            """
def cut(images, patch_height, patch_width):
    B, C, height, width = images.shape
    x = images.transpose(2, 3)
    x = x.reshape(B, C, width // patch_width, patch_width, height // patch_height, patch_height)
    return x.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)
""",
        ),
        Wrong(
            "the channels come last, as in image files",
            "channels last inside a patch",
            """
def cut(images, patch_height, patch_width):
    x = images.unfold(2, patch_height, patch_height).unfold(3, patch_width, patch_width)
    return x.permute(0, 2, 3, 4, 5, 1).flatten(3).flatten(1, 2)
""",
        ),
        Wrong(
            "an axis splits into (inside, outside)",
            "patches of pixels that lie far apart",
            """
def cut(images, patch_height, patch_width):
    B, C, height, width = images.shape
    x = images.reshape(B, C, patch_height, height // patch_height, patch_width, width // patch_width)
    return x.permute(0, 3, 5, 1, 2, 4).flatten(3).flatten(1, 2)
""",
        ),
        Wrong(
            "the first size of a patch is its width",
            "height and width of a patch mixed up",
            """
def cut(images, patch_height, patch_width):
    B, C, height, width = images.shape
    x = images.reshape(B, C, height // patch_width, patch_width, width // patch_height, patch_height)
    return x.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)
""",
        ),
        Wrong(
            "each channel is an image of its own",
            "a token for each channel",
            """
def cut(images, patch_height, patch_width):
    B, C, height, width = images.shape
    x = images.reshape(B * C, height // patch_height, patch_height, width // patch_width, patch_width)
    return x.transpose(2, 3).reshape(B, -1, patch_height * patch_width)
""",
        ),
        Wrong(
            "unfold gives the patches as rows",
            "axes in another order",
            """
def cut(images, patch_height, patch_width):
    size = (patch_height, patch_width)
    return F.unfold(images, size, stride=size)
""",
        ),
        Wrong(
            "view and reshape are the same",
            "view on a tensor with gaps",
            """
def cut(images, patch_height, patch_width):
    B, C, height, width = images.shape
    x = images.view(B, C, height // patch_height, patch_height, width // patch_width, patch_width)
    return x.permute(0, 2, 4, 1, 3, 5).view(B, -1, C * patch_height * patch_width)
""",
        ),
        Wrong(
            "the function from the package is an answer",
            "the library does the work",
            """
def cut(images, patch_height, patch_width):
    from pioneers.layers import patchify

    return patchify(images, patch_height)
""",
        ),
    ],
    "6.2": [
        Wrong(
            "a reshape is enough",
            "a reshape without a transposition",
            """
def join(patches, patch_height, patch_width, height):
    B, N, size = patches.shape
    C = size // (patch_height * patch_width)
    width = N * patch_height * patch_width // height
    return patches.reshape(B, C, height, width)
""",
        ),
        Wrong(
            "columns come before rows",
            "patches numbered column by column",
            """
def join(patches, patch_height, patch_width, height):
    B, N, size = patches.shape
    rows = height // patch_height
    x = patches.reshape(B, N // rows, rows, -1, patch_height, patch_width)
    return x.permute(0, 3, 2, 4, 1, 5).reshape(B, -1, height, N // rows * patch_width)
""",
        ),
        Wrong(
            "inside a patch the columns come first",
            "the pixels of a patch column by column",
            """
def join(patches, patch_height, patch_width, height):
    B, N, size = patches.shape
    rows = height // patch_height
    x = patches.reshape(B, rows, N // rows, -1, patch_width, patch_height)
    return x.permute(0, 3, 1, 5, 2, 4).reshape(B, -1, height, N // rows * patch_width)
""",
        ),
        Wrong(
            "the channels come last, as in image files",
            "channels last inside a patch",
            """
def join(patches, patch_height, patch_width, height):
    B, N, size = patches.shape
    rows = height // patch_height
    x = patches.reshape(B, rows, N // rows, patch_height, patch_width, -1)
    return x.permute(0, 5, 1, 3, 2, 4).flatten(4).flatten(2, 3)
""",
        ),
        Wrong(
            "the last axes may be joined in any order",
            "patches of pixels that lie far apart",
            """
def join(patches, patch_height, patch_width, height):
    B, N, size = patches.shape
    rows = height // patch_height
    x = patches.reshape(B, rows, N // rows, -1, patch_height, patch_width)
    return x.permute(0, 3, 4, 1, 5, 2).flatten(4).flatten(2, 3)
""",
        ),
        Wrong(
            "the first size of a patch is its width",
            "height and width of a patch mixed up",
            """
def join(patches, patch_height, patch_width, height):
    B, N, size = patches.shape
    rows = height // patch_width
    x = patches.reshape(B, rows, N // rows, -1, patch_width, patch_height)
    return x.permute(0, 3, 1, 4, 2, 5).flatten(4).flatten(2, 3)
""",
        ),
        Wrong(
            "height counts the columns",
            "height taken for width",
            """
def join(patches, patch_height, patch_width, height):
    B, N, size = patches.shape
    columns = height // patch_width
    x = patches.reshape(B, N // columns, columns, -1, patch_height, patch_width)
    return x.permute(0, 3, 1, 4, 2, 5).flatten(4).flatten(2, 3)
""",
        ),
        Wrong(
            "an empty image, to be filled, is float32",
            "another precision comes out",
            """
def join(patches, patch_height, patch_width, height):
    B, N, size = patches.shape
    C, columns = size // (patch_height * patch_width), N * patch_height // height
    images = torch.zeros(B, C, height, columns * patch_width, device=patches.device)
    for n in range(N):
        top, left = n // columns * patch_height, n % columns * patch_width
        patch = patches[:, n].reshape(B, C, patch_height, patch_width)
        images[:, :, top : top + patch_height, left : left + patch_width] = patch
    return images
""",
        ),
        Wrong(
            "a patch list is an image list",
            "nothing returned",
            """
def join(patches, patch_height, patch_width, height):
    B, N, size = patches.shape
    rows = height // patch_height
    x = patches.reshape(B, rows, N // rows, -1, patch_height, patch_width)
    images = x.permute(0, 3, 1, 4, 2, 5).flatten(4).flatten(2, 3)
""",
        ),
    ],
    "6.3": [
        Wrong(
            "all patches are flattened as in the lecture",
            "the order of another patch",
            """
def conv_kernel(weight, patch_height, patch_width):
    return weight.reshape(len(weight), -1, patch_height, patch_width)
""",
        ),
        Wrong(
            "a linear layer keeps its matrix as it is written",
            "the weight taken for the matrix E",
            """
def conv_kernel(weight, patch_height, patch_width):
    D, size = weight.shape
    C = size // (patch_height * patch_width)
    return weight.reshape(patch_height, patch_width, C, D).permute(3, 2, 0, 1)
""",
        ),
        Wrong(
            "the width comes first",
            "columns before rows",
            """
def conv_kernel(weight, patch_height, patch_width):
    x = weight.reshape(len(weight), patch_width, patch_height, -1)
    return x.permute(0, 3, 2, 1)
""",
        ),
        Wrong(
            "reverse the axes and they fit",
            "the kernel turned by 90 degrees",
            """
def conv_kernel(weight, patch_height, patch_width):
    return weight.reshape(len(weight), patch_height, patch_width, -1).transpose(1, 3)
""",
        ),
        Wrong(
            "split, and done",
            "the channels left behind",
            """
def conv_kernel(weight, patch_height, patch_width):
    return weight.reshape(len(weight), patch_height, patch_width, -1)
""",
        ),
        Wrong(
            "a convolution turns its kernel round",
            "the kernel flipped",
            """
def conv_kernel(weight, patch_height, patch_width):
    x = weight.reshape(len(weight), patch_height, patch_width, -1).permute(0, 3, 1, 2)
    return x.flip((-2, -1))
""",
        ),
        Wrong(
            "turn the whole patch round",
            "the kernel flipped",
            """
def conv_kernel(weight, patch_height, patch_width):
    return weight.flip(1).reshape(len(weight), patch_height, patch_width, -1).movedim(3, 1)
""",
        ),
        Wrong(
            "a kernel is a parameter, so make one",
            "the gradient is cut",
            """
def conv_kernel(weight, patch_height, patch_width):
    x = weight.reshape(len(weight), patch_height, patch_width, -1)
    return nn.Parameter(x.permute(0, 3, 1, 2).contiguous())
""",
        ),
    ],
    "6.4": [
        Wrong(
            "a class token is appended",
            "the class token behind the patches",
            """
def to_tokens(patches, cls_token, table):
    cls = cls_token.expand(len(patches), 1, -1)
    return torch.cat([patches, cls], dim=1) + table
""",
        ),
        Wrong(
            "only patches have a place",
            "the class token has no position",
            """
def to_tokens(patches, cls_token, table):
    cls = cls_token.repeat(len(patches), 1, 1)
    return torch.cat([cls, patches + table[1:]], dim=1)
""",
        ),
        Wrong(
            "the first row belongs to the first patch",
            "the positions are one place off",
            """
def to_tokens(patches, cls_token, table):
    cls = (cls_token + table[-1]).expand(len(patches), 1, -1)
    return torch.cat([cls, patches + table[:-1]], dim=1)
""",
        ),
        Wrong(
            "the order of the rows tells the place",
            "no positions",
            """
def to_tokens(patches, cls_token, table):
    return torch.cat([cls_token.expand(len(patches), 1, -1), patches], dim=1)
""",
        ),
        Wrong(
            "a class token marks the patches",
            "the class token added, not put in front",
            """
def to_tokens(patches, cls_token, table):
    return patches + cls_token + table[1:]
""",
        ),
        Wrong(
            "a sum spreads the class token",
            "the class token added to every token",
            """
def to_tokens(patches, cls_token, table):
    front = torch.zeros_like(patches[:, :1])
    return torch.cat([front, patches], dim=1) + cls_token + table
""",
        ),
        Wrong(
            "one class token, so one row",
            "a class token in the first image only",
            """
def to_tokens(patches, cls_token, table):
    x = F.pad(patches, (0, 0, 1, 0))
    x[0, 0] = x[0, 0] + cls_token
    return x + table
""",
        ),
        Wrong(
            "adding in place saves memory",
            "the input is overwritten",
            """
def to_tokens(patches, cls_token, table):
    patches += table[1:]
    cls = (cls_token + table[0]).expand(len(patches), 1, -1)
    return torch.cat([cls, patches], dim=1)
""",
        ),
        Wrong(
            "learned means nn.Parameter, here",
            "the gradient is cut",
            """
def to_tokens(patches, cls_token, table):
    cls = nn.Parameter(cls_token).expand(len(patches), 1, -1)
    return torch.cat([cls, patches], dim=1) + nn.Parameter(table)
""",
        ),
        Wrong(
            "an empty tensor is made as it comes",
            "another precision comes out",
            """
def to_tokens(patches, cls_token, table):
    B, N, D = patches.shape
    tokens = torch.empty(B, 1 + N, D, device=patches.device)
    tokens[:, 0] = cls_token + table[0]
    tokens[:, 1:] = patches + table[1:]
    return tokens
""",
        ),
        Wrong(
            "the module from the package is an answer",
            "the library does the work",
            """
def to_tokens(patches, cls_token, table):
    from pioneers.layers import ClassToken

    front = ClassToken(len(cls_token))
    front.vector.data = cls_token
    return front(patches) + table
""",
        ),
    ],
    "6.5": [
        Wrong(
            "an offset is an index",
            "the middle of the table forgotten",
            """
def offset_bias(table, rows, columns):
    n = torch.arange(rows * columns, device=table.device)
    row, column = n // columns, n % columns
    return table[:, row - row[:, None], column - column[:, None]]
""",
        ),
        Wrong(
            "an offset is query minus key",
            "from key to query",
            """
def offset_bias(table, rows, columns):
    n = torch.arange(rows * columns, device=table.device)
    row, column = n // columns, n % columns
    return table[:, row[:, None] - row + rows - 1, column[:, None] - column + columns - 1]
""",
        ),
        Wrong(
            "an offset is (x, y)",
            "down and right swapped",
            """
def offset_bias(table, rows, columns):
    n = torch.arange(rows * columns, device=table.device)
    x, y = n % columns, n // columns
    return table[:, x - x[:, None] + columns - 1, y - y[:, None] + rows - 1]
""",
        ),
        Wrong(
            "a distance has no sign",
            "only the length of an offset",
            """
def offset_bias(table, rows, columns):
    n = torch.arange(rows * columns, device=table.device)
    row, column = n // columns, n % columns
    down, right = (row - row[:, None]).abs(), (column - column[:, None]).abs()
    return table[:, down + rows - 1, right + columns - 1]
""",
        ),
        Wrong(
            "row and column are remainder and quotient",
            "patches numbered column by column",
            """
def offset_bias(table, rows, columns):
    n = torch.arange(rows * columns, device=table.device)
    row, column = n % rows, n // rows
    return table[:, row - row[:, None] + rows - 1, column - column[:, None] + columns - 1]
""",
        ),
        Wrong(
            "patches stand in a line",
            "offsets in reading order",
            """
def offset_bias(table, rows, columns):
    n = torch.arange(rows * columns, device=table.device)
    flat = table.reshape(len(table), -1)
    return flat[:, n - n[:, None] + flat.shape[1] // 2]
""",
        ),
        Wrong(
            "query minus key, and Python counts from the end anyway",
            "from key to query, and the middle forgotten",
            """
def offset_bias(table, rows, columns):
    place = torch.cartesian_prod(torch.arange(rows), torch.arange(columns)).to(table.device)
    offset = place[:, None] - place
    return table[:, offset[..., 0], offset[..., 1]]
""",
        ),
        Wrong(
            "numbers are read out one by one",
            "the gradient is cut",
            """
def offset_bias(table, rows, columns):
    places = [(r, c) for r in range(rows) for c in range(columns)]
    bias = torch.zeros(len(table), len(places), len(places), dtype=table.dtype, device=table.device)
    for h in range(len(table)):
        for q, (r, c) in enumerate(places):
            for k, (s, d) in enumerate(places):
                bias[h, q, k] = table[h, s - r + rows - 1, d - c + columns - 1].item()
    return bias
""",
        ),
        Wrong(
            "the heads come last",
            "axes in another order",
            """
def offset_bias(table, rows, columns):
    n = torch.arange(rows * columns, device=table.device)
    row, column = n // columns, n % columns
    down, right = row - row[:, None] + rows - 1, column - column[:, None] + columns - 1
    return table.permute(1, 2, 0)[down, right]
""",
        ),
    ],
    "6.6": [
        Wrong(
            "the class token starts anew",
            "the class token's row is changed",
            """
def resize_positions(table, rows, columns, new_rows, new_columns):
    grid = table[1:].T.reshape(1, -1, rows, columns)
    grid = F.interpolate(grid, size=(new_rows, new_columns), mode="bicubic", align_corners=False)
    patches = grid.flatten(2)[0].T
    return torch.cat([torch.zeros_like(table[:1]), patches])
""",
        ),
        Wrong(
            "the class token has no place in the table",
            "the class token's row is lost",
            """
def resize_positions(table, rows, columns, new_rows, new_columns):
    grid = table[1:].T.reshape(1, -1, rows, columns)
    grid = F.interpolate(grid, size=(new_rows, new_columns), mode="bicubic", align_corners=False)
    return grid.flatten(2)[0].T
""",
        ),
        Wrong(
            "the class token comes last",
            "the class token taken for the last row",
            """
def resize_positions(table, rows, columns, new_rows, new_columns):
    grid = table[:-1].T.reshape(1, -1, rows, columns)
    grid = F.interpolate(grid, size=(new_rows, new_columns), mode="bicubic", align_corners=False)
    return torch.cat([grid.flatten(2)[0].T, table[-1:]])
""",
        ),
        Wrong(
            "a reshape brings the channels in front",
            "channels and places mixed up, there and back",
            """
def resize_positions(table, rows, columns, new_rows, new_columns):
    D = table.shape[1]
    grid = table[1:].reshape(1, D, rows, columns)
    grid = F.interpolate(grid, size=(new_rows, new_columns), mode="bicubic", align_corners=False)
    return torch.cat([table[:1], grid.reshape(-1, D)])
""",
        ),
        Wrong(
            "only the way back needs a transposition",
            "channels and places mixed up",
            """
def resize_positions(table, rows, columns, new_rows, new_columns):
    grid = table[1:].reshape(1, table.shape[1], rows, columns)
    grid = F.interpolate(grid, size=(new_rows, new_columns), mode="bicubic", align_corners=False)
    return torch.cat([table[:1], grid.flatten(2)[0].T])
""",
        ),
        Wrong(
            "the way back is a reshape",
            "not transposed back",
            """
def resize_positions(table, rows, columns, new_rows, new_columns):
    grid = table[1:].T.reshape(1, -1, rows, columns)
    grid = F.interpolate(grid, size=(new_rows, new_columns), mode="bicubic", align_corners=False)
    return torch.cat([table[:1], grid.reshape(new_rows * new_columns, -1)])
""",
        ),
        Wrong(
            "a size is (width, height)",
            "rows and columns of the new grid swapped",
            """
def resize_positions(table, rows, columns, new_rows, new_columns):
    grid = table[1:].T.reshape(1, -1, rows, columns)
    grid = F.interpolate(grid, size=(new_columns, new_rows), mode="bicubic", align_corners=False)
    return torch.cat([table[:1], grid.flatten(2)[0].T])
""",
        ),
        Wrong(
            "a grid is (x, y)",
            "rows and columns of the old grid swapped",
            """
def resize_positions(table, rows, columns, new_rows, new_columns):
    grid = table[1:].reshape(columns, rows, -1).permute(2, 0, 1)[None]
    grid = F.interpolate(grid, size=(new_rows, new_columns), mode="bicubic", align_corners=False)
    return torch.cat([table[:1], grid[0].flatten(1).T])
""",
        ),
        Wrong(
            "the corners must stay where they are",
            "the corners nailed down",
            """
def resize_positions(table, rows, columns, new_rows, new_columns):
    grid = table[1:].T.reshape(1, -1, rows, columns)
    grid = F.interpolate(grid, size=(new_rows, new_columns), mode="bicubic", align_corners=True)
    return torch.cat([table[:1], grid.flatten(2)[0].T])
""",
        ),
        Wrong(
            "interpolate knows what is best",
            "another interpolation",
            """
def resize_positions(table, rows, columns, new_rows, new_columns):
    grid = table[1:].T.reshape(1, -1, rows, columns)
    grid = F.interpolate(grid, size=(new_rows, new_columns))
    return torch.cat([table[:1], grid.flatten(2)[0].T])
""",
        ),
        Wrong(
            "smoothing can do no harm",
            "smoothed on the way",
            """
def resize_positions(table, rows, columns, new_rows, new_columns):
    grid = table[1:].T.reshape(1, -1, rows, columns)
    size = (new_rows, new_columns)
    grid = F.interpolate(grid, size=size, mode="bicubic", align_corners=False, antialias=True)
    return torch.cat([table[:1], grid.flatten(2)[0].T])
""",
        ),
        Wrong(
            "a table is a line of places",
            "resized along the reading order",
            """
def resize_positions(table, rows, columns, new_rows, new_columns):
    line = F.interpolate(table[1:].T[None], size=new_rows * new_columns, mode="linear")
    return torch.cat([table[:1], line[0].T])
""",
        ),
    ],
    "6.7": [
        Wrong(
            "T is the number of patches",
            "the class token forgotten",
            """
def vit_costs(patch_sizes, height, width, channels, d_model, num_layers, num_classes):
    P, D, L = patch_sizes, d_model, num_layers
    N = (height // P) * (width // P)
    parameters = D * (channels * P**2 + 1) + N * D + L * (12 * D**2 + 13 * D) + 2 * D + (D + 1) * num_classes
    multiply_adds = N * P**2 * channels * D + L * (12 * N * D**2 + 2 * N**2 * D) + D * num_classes
    return torch.stack([parameters, multiply_adds], dim=1)
""",
        ),
        Wrong(
            "the class token is free",
            "the class token costs nothing",
            """
def vit_costs(patch_sizes, height, width, channels, d_model, num_layers, num_classes):
    P, D, L = patch_sizes, d_model, num_layers
    N = (height // P) * (width // P)
    parameters = D * (channels * P**2 + 1) + D + (N + 1) * D
    parameters = parameters + L * (12 * D**2 + 13 * D) + 2 * D + (D + 1) * num_classes
    multiply_adds = N * P**2 * channels * D + L * (12 * N * D**2 + 2 * N**2 * D) + D * num_classes
    return torch.stack([parameters, multiply_adds], dim=1)
""",
        ),
        Wrong(
            "the class token has no place",
            "a vector of D numbers is missing",
            """
def vit_costs(patch_sizes, height, width, channels, d_model, num_layers, num_classes):
    P, D, L = patch_sizes, d_model, num_layers
    N = (height // P) * (width // P)
    T = N + 1
    parameters = D * (channels * P**2 + 1) + D + N * D
    parameters = parameters + L * (12 * D**2 + 13 * D) + 2 * D + (D + 1) * num_classes
    multiply_adds = N * P**2 * channels * D + L * (12 * T * D**2 + 2 * T**2 * D) + D * num_classes
    return torch.stack([parameters, multiply_adds], dim=1)
""",
        ),
        Wrong(
            "a linear map is its matrix",
            "biases forgotten",
            """
def vit_costs(patch_sizes, height, width, channels, d_model, num_layers, num_classes):
    P, D, L = patch_sizes, d_model, num_layers
    N = (height // P) * (width // P)
    T = N + 1
    parameters = D * channels * P**2 + D + T * D + L * (12 * D**2 + 4 * D) + 2 * D + D * num_classes
    multiply_adds = N * P**2 * channels * D + L * (12 * T * D**2 + 2 * T**2 * D) + D * num_classes
    return torch.stack([parameters, multiply_adds], dim=1)
""",
        ),
        Wrong(
            "a norm has nothing to learn",
            "norms forgotten",
            """
def vit_costs(patch_sizes, height, width, channels, d_model, num_layers, num_classes):
    P, D, L = patch_sizes, d_model, num_layers
    N = (height // P) * (width // P)
    T = N + 1
    block = 4 * (D**2 + D) + (4 * D**2 + 4 * D) + (4 * D**2 + D)
    parameters = D * (channels * P**2 + 1) + D + T * D + L * block + (D + 1) * num_classes
    multiply_adds = N * P**2 * channels * D + L * (12 * T * D**2 + 2 * T**2 * D) + D * num_classes
    return torch.stack([parameters, multiply_adds], dim=1)
""",
        ),
        Wrong(
            "attention is its scores",
            "scores without their use",
            """
def vit_costs(patch_sizes, height, width, channels, d_model, num_layers, num_classes):
    P, D, L = patch_sizes, d_model, num_layers
    N = (height // P) * (width // P)
    T = N + 1
    parameters = D * (channels * P**2 + 1) + D + T * D
    parameters = parameters + L * (12 * D**2 + 13 * D) + 2 * D + (D + 1) * num_classes
    multiply_adds = N * P**2 * channels * D + L * (12 * T * D**2 + T**2 * D) + D * num_classes
    return torch.stack([parameters, multiply_adds], dim=1)
""",
        ),
        Wrong(
            "the cost is that of the lecture's models",
            "the last block cut short",
            """
def vit_costs(patch_sizes, height, width, channels, d_model, num_layers, num_classes):
    P, D, L = patch_sizes, d_model, num_layers
    N = (height // P) * (width // P)
    T = N + 1
    parameters = D * (channels * P**2 + 1) + D + T * D
    parameters = parameters + L * (12 * D**2 + 13 * D) + 2 * D + (D + 1) * num_classes
    last = 2 * T * D**2 + 10 * D**2 + 2 * T * D
    blocks = (L - 1) * (12 * T * D**2 + 2 * T**2 * D) + last
    return torch.stack([parameters, N * P**2 * channels * D + blocks + D * num_classes], dim=1)
""",
        ),
        Wrong(
            "images are square",
            "square images only",
            """
def vit_costs(patch_sizes, height, width, channels, d_model, num_layers, num_classes):
    P, D, L = patch_sizes, d_model, num_layers
    N = (height // P) ** 2
    T = N + 1
    parameters = D * (channels * P**2 + 1) + D + T * D
    parameters = parameters + L * (12 * D**2 + 13 * D) + 2 * D + (D + 1) * num_classes
    multiply_adds = N * P**2 * channels * D + L * (12 * T * D**2 + 2 * T**2 * D) + D * num_classes
    return torch.stack([parameters, multiply_adds], dim=1)
""",
        ),
        Wrong(
            "a patch has P² numbers",
            "colours forgotten",
            """
def vit_costs(patch_sizes, height, width, channels, d_model, num_layers, num_classes):
    P, D, L = patch_sizes, d_model, num_layers
    N = (height // P) * (width // P)
    T = N + 1
    parameters = D * (P**2 + 1) + D + T * D + L * (12 * D**2 + 13 * D) + 2 * D + (D + 1) * num_classes
    multiply_adds = N * P**2 * D + L * (12 * T * D**2 + 2 * T**2 * D) + D * num_classes
    return torch.stack([parameters, multiply_adds], dim=1)
""",
        ),
        Wrong(
            "a quotient may have a fraction",
            "a count that is no whole number",
            """
def vit_costs(patch_sizes, height, width, channels, d_model, num_layers, num_classes):
    P, D, L = patch_sizes, d_model, num_layers
    N = height * width / P**2
    T = N + 1
    parameters = D * (channels * P**2 + 1) + D + T * D
    parameters = parameters + L * (12 * D**2 + 13 * D) + 2 * D + (D + 1) * num_classes
    multiply_adds = N * P**2 * channels * D + L * (12 * T * D**2 + 2 * T**2 * D) + D * num_classes
    return torch.stack([parameters, multiply_adds], dim=1)
""",
        ),
        Wrong(
            "a conversion at the end mends a fraction",
            "counted in single precision",
            """
def vit_costs(patch_sizes, height, width, channels, d_model, num_layers, num_classes):
    P, D, L = patch_sizes.float(), d_model, num_layers
    N = (height / P) * (width / P)
    T = N + 1
    parameters = D * (channels * P**2 + 1) + D + T * D
    parameters = parameters + L * (12 * D**2 + 13 * D) + 2 * D + (D + 1) * num_classes
    multiply_adds = N * P**2 * channels * D + L * (12 * T * D**2 + 2 * T**2 * D) + D * num_classes
    return torch.stack([parameters, multiply_adds], dim=1).round().long()
""",
        ),
    ],
    "6.8": [
        Wrong(
            "rows sum to one anyway",
            "shares that do not sum to one",
            """
def attention_distance(weights, columns, patch_size):
    shares = weights[:, :, 1:, 1:]
    n = torch.arange(shares.shape[-1], device=weights.device)
    centres = patch_size * torch.stack([n // columns, n % columns], dim=1).to(weights.dtype)
    return (shares * torch.cdist(centres, centres)).sum(-1).mean(dim=(0, 2))
""",
        ),
        Wrong(
            "a column sums to one",
            "normalised over the queries",
            """
def attention_distance(weights, columns, patch_size):
    shares = weights[:, :, 1:, 1:]
    shares = shares / shares.sum(dim=2, keepdim=True)
    n = torch.arange(shares.shape[-1], device=weights.device)
    centres = patch_size * torch.stack([n // columns, n % columns], dim=1).to(weights.dtype)
    return (shares * torch.cdist(centres, centres)).sum(-1).mean(dim=(0, 2))
""",
        ),
        Wrong(
            "only a softmax makes shares",
            "a second softmax",
            """
def attention_distance(weights, columns, patch_size):
    shares = weights[:, :, 1:, 1:].softmax(-1)
    n = torch.arange(shares.shape[-1], device=weights.device)
    centres = patch_size * torch.stack([n // columns, n % columns], dim=1).to(weights.dtype)
    return (shares * torch.cdist(centres, centres)).sum(-1).mean(dim=(0, 2))
""",
        ),
        Wrong(
            "the class token comes last",
            "the class token taken for the last one",
            """
def attention_distance(weights, columns, patch_size):
    shares = weights[:, :, :-1, :-1]
    shares = shares / shares.sum(-1, keepdim=True)
    n = torch.arange(shares.shape[-1], device=weights.device)
    centres = patch_size * torch.stack([n // columns, n % columns], dim=1).to(weights.dtype)
    return (shares * torch.cdist(centres, centres)).sum(-1).mean(dim=(0, 2))
""",
        ),
        Wrong(
            "a step is a step",
            "counted in patches",
            """
def attention_distance(weights, columns, patch_size):
    shares = weights[:, :, 1:, 1:]
    shares = shares / shares.sum(-1, keepdim=True)
    n = torch.arange(shares.shape[-1], device=weights.device)
    centres = torch.stack([n // columns, n % columns], dim=1).to(weights.dtype)
    return (shares * torch.cdist(centres, centres)).sum(-1).mean(dim=(0, 2))
""",
        ),
        Wrong(
            "distance is rows plus columns",
            "steps along rows and columns",
            """
def attention_distance(weights, columns, patch_size):
    shares = weights[:, :, 1:, 1:]
    shares = shares / shares.sum(-1, keepdim=True)
    n = torch.arange(shares.shape[-1], device=weights.device)
    row, column = n // columns, n % columns
    steps = (row - row[:, None]).abs() + (column - column[:, None]).abs()
    return (shares * patch_size * steps).sum(-1).mean(dim=(0, 2))
""",
        ),
        Wrong(
            "the sum of squares is the distance",
            "the root forgotten",
            """
def attention_distance(weights, columns, patch_size):
    shares = weights[:, :, 1:, 1:]
    shares = shares / shares.sum(-1, keepdim=True)
    n = torch.arange(shares.shape[-1], device=weights.device)
    centres = patch_size * torch.stack([n // columns, n % columns], dim=1)
    squares = (centres[:, None] - centres).square().sum(-1)
    return (shares * squares).sum(-1).mean(dim=(0, 2))
""",
        ),
        Wrong(
            "patches stand in a line",
            "distance along the reading order",
            """
def attention_distance(weights, columns, patch_size):
    shares = weights[:, :, 1:, 1:]
    shares = shares / shares.sum(-1, keepdim=True)
    n = torch.arange(shares.shape[-1], device=weights.device)
    steps = patch_size * (n - n[:, None]).abs()
    return (shares * steps).sum(-1).mean(dim=(0, 2))
""",
        ),
        Wrong(
            "row and column are remainder and quotient",
            "patches numbered column by column",
            """
def attention_distance(weights, columns, patch_size):
    shares = weights[:, :, 1:, 1:]
    shares = shares / shares.sum(-1, keepdim=True)
    n = torch.arange(shares.shape[-1], device=weights.device)
    rows = len(n) // columns
    centres = patch_size * torch.stack([n % rows, n // rows], dim=1).to(weights.dtype)
    return (shares * torch.cdist(centres, centres)).sum(-1).mean(dim=(0, 2))
""",
        ),
        Wrong(
            "a mean divides by the number of keys",
            "the mean over the keys",
            """
def attention_distance(weights, columns, patch_size):
    shares = weights[:, :, 1:, 1:]
    shares = shares / shares.sum(-1, keepdim=True)
    n = torch.arange(shares.shape[-1], device=weights.device)
    centres = patch_size * torch.stack([n // columns, n % columns], dim=1).to(weights.dtype)
    return (shares * torch.cdist(centres, centres)).mean(dim=(0, 2, 3))
""",
        ),
        Wrong(
            "a layer has one distance",
            "one number for all heads",
            """
def attention_distance(weights, columns, patch_size):
    shares = weights[:, :, 1:, 1:]
    shares = shares / shares.sum(-1, keepdim=True)
    n = torch.arange(shares.shape[-1], device=weights.device)
    centres = patch_size * torch.stack([n // columns, n % columns], dim=1).to(weights.dtype)
    return (shares * torch.cdist(centres, centres)).sum(-1).mean()
""",
        ),
        Wrong(
            "dividing in place saves memory",
            "the input is overwritten",
            """
def attention_distance(weights, columns, patch_size):
    shares = weights[:, :, 1:, 1:]
    shares /= shares.sum(-1, keepdim=True)
    n = torch.arange(shares.shape[-1], device=weights.device)
    centres = patch_size * torch.stack([n // columns, n % columns], dim=1).to(weights.dtype)
    return (shares * torch.cdist(centres, centres)).sum(-1).mean(dim=(0, 2))
""",
        ),
    ],
    "6.9": [
        Wrong(
            "matrices stand in the order of the layers",
            "the first layer on the left",
            """
def rollout(weights, residual=0.5):
    eye = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    mixed = eye
    for layer in weights:
        mixed = mixed @ (residual * eye + (1 - residual) * layer.mean(1))
    shares = mixed[:, 0, 1:]
    return shares / shares.sum(-1, keepdim=True)
""",
        ),
        Wrong(
            "a layer only averages",
            "the residual forgotten",
            """
def rollout(weights, residual=0.5):
    mixed = weights[0].mean(1)
    for layer in weights[1:]:
        mixed = layer.mean(1) @ mixed
    shares = mixed[:, 0, 1:]
    return shares / shares.sum(-1, keepdim=True)
""",
        ),
        Wrong(
            "residual is the share of attention",
            "kept and brought mixed up",
            """
def rollout(weights, residual=0.5):
    eye = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    mixed = eye
    for layer in weights:
        mixed = (residual * layer.mean(1) + (1 - residual) * eye) @ mixed
    shares = mixed[:, 0, 1:]
    return shares / shares.sum(-1, keepdim=True)
""",
        ),
        Wrong(
            "it is one half in the paper",
            "residual is ignored",
            """
def rollout(weights, residual=0.5):
    eye = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    mixed = eye
    for layer in weights:
        mixed = 0.5 * (eye + layer.mean(1)) @ mixed
    shares = mixed[:, 0, 1:]
    return shares / shares.sum(-1, keepdim=True)
""",
        ),
        Wrong(
            "the stream is kept as a whole",
            "the identity in full",
            """
def rollout(weights, residual=0.5):
    eye = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    mixed = eye
    for layer in weights:
        mixed = (eye + (1 - residual) * layer.mean(1)) @ mixed
    shares = mixed[:, 0, 1:]
    return shares / shares.sum(-1, keepdim=True)
""",
        ),
        Wrong(
            "the last layer has seen everything",
            "the last layer only",
            """
def rollout(weights, residual=0.5):
    eye = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    last = residual * eye + (1 - residual) * weights[-1].mean(1)
    shares = last[:, 0, 1:]
    return shares / shares.sum(-1, keepdim=True)
""",
        ),
        Wrong(
            "the layers add up",
            "layers added, not multiplied",
            """
def rollout(weights, residual=0.5):
    eye = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    mixed = (residual * eye + (1 - residual) * weights.mean(2)).sum(0)
    shares = mixed[:, 0, 1:]
    return shares / shares.sum(-1, keepdim=True)
""",
        ),
        Wrong(
            "a product is *",
            "layers multiplied entry by entry",
            """
def rollout(weights, residual=0.5):
    eye = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    mixed = torch.ones_like(weights[0, :, 0])
    for layer in weights:
        mixed = (residual * eye + (1 - residual) * layer.mean(1)) * mixed
    shares = mixed[:, 0, 1:]
    return shares / shares.sum(-1, keepdim=True)
""",
        ),
        Wrong(
            "the strongest head decides",
            "the largest head instead of the mean",
            """
def rollout(weights, residual=0.5):
    eye = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    mixed = eye
    for layer in weights:
        mixed = (residual * eye + (1 - residual) * layer.max(dim=1).values) @ mixed
    shares = mixed[:, 0, 1:]
    return shares / shares.sum(-1, keepdim=True)
""",
        ),
        Wrong(
            "the heads of a layer add up",
            "heads summed",
            """
def rollout(weights, residual=0.5):
    eye = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    mixed = eye
    for layer in weights:
        mixed = (residual * eye + (1 - residual) * layer.sum(1)) @ mixed
    shares = mixed[:, 0, 1:]
    return shares / shares.sum(-1, keepdim=True)
""",
        ),
        Wrong(
            "a head reads its own output",
            "each head rolled out by itself",
            """
def rollout(weights, residual=0.5):
    eye = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    mixed = eye
    for layer in weights:
        mixed = (residual * eye + (1 - residual) * layer) @ mixed
    shares = mixed.mean(1)[:, 0, 1:]
    return shares / shares.sum(-1, keepdim=True)
""",
        ),
        Wrong(
            "what is in a token stands in its column",
            "a column instead of the row",
            """
def rollout(weights, residual=0.5):
    eye = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    mixed = eye
    for layer in weights:
        mixed = (residual * eye + (1 - residual) * layer.mean(1)) @ mixed
    shares = mixed[:, 1:, 0]
    return shares / shares.sum(-1, keepdim=True)
""",
        ),
        Wrong(
            "the shares sum to one already",
            "shares that do not sum to one",
            """
def rollout(weights, residual=0.5):
    eye = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    mixed = eye
    for layer in weights:
        mixed = (residual * eye + (1 - residual) * layer.mean(1)) @ mixed
    return mixed[:, 0, 1:]
""",
        ),
        Wrong(
            "the class token is a patch too",
            "the class token's own share kept",
            """
def rollout(weights, residual=0.5):
    eye = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    mixed = eye
    for layer in weights:
        mixed = (residual * eye + (1 - residual) * layer.mean(1)) @ mixed
    return mixed[:, 0]
""",
        ),
        Wrong(
            "an identity matrix lives nowhere in particular",
            "a tensor left on the CPU",
            """
def rollout(weights, residual=0.5):
    eye = torch.eye(weights.shape[-1], dtype=weights.dtype)
    mixed = eye
    for layer in weights:
        mixed = (residual * eye + (1 - residual) * layer.mean(1)) @ mixed
    shares = mixed[:, 0, 1:]
    return shares / shares.sum(-1, keepdim=True)
""",
        ),
        Wrong(
            "the function from the package is an answer",
            "the library does the work",
            """
def rollout(weights, residual=0.5):
    from pioneers.analysis import attention_rollout

    shares = attention_rollout(list(weights))[:, 0, 1:]
    return shares / shares.sum(-1, keepdim=True)
""",
        ),
    ],
}

RIGHT = {
    "6.1": [
        Right(
            "a loop over patches",
            """
def cut(images, patch_height, patch_width):
    patches = []
    for top in range(0, images.shape[2], patch_height):
        for left in range(0, images.shape[3], patch_width):
            patch = images[:, :, top : top + patch_height, left : left + patch_width]
            patches.append(patch.flatten(1))
    return torch.stack(patches, dim=1)
""",
        ),
        Right(
            "unfold of a tensor",
            """
def cut(images, patch_height, patch_width):
    x = images.unfold(2, patch_height, patch_height).unfold(3, patch_width, patch_width)
    return x.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)
""",
        ),
        Right(
            "unfold of torch.nn.functional",
            """
def cut(images, patch_height, patch_width):
    size = (patch_height, patch_width)
    return F.unfold(images, size, stride=size).transpose(1, 2)
""",
        ),
    ],
    "6.2": [
        Right(
            "a row of patches at a time",
            """
def join(patches, patch_height, patch_width, height):
    B, N, size = patches.shape
    C, rows = size // (patch_height * patch_width), height // patch_height
    pictures = patches.reshape(B, N, C, patch_height, patch_width)
    strips = [torch.cat(list(strip.unbind(1)), dim=-1) for strip in pictures.chunk(rows, dim=1)]
    return torch.cat(strips, dim=2)
""",
        ),
        Right(
            "fold",
            """
def join(patches, patch_height, patch_width, height):
    size = (patch_height, patch_width)
    width = patches.shape[1] * patch_height * patch_width // height
    return F.fold(patches.transpose(1, 2), (height, width), size, stride=size)
""",
        ),
    ],
    "6.3": [
        Right(
            "an unflatten and a movedim",
            """
def conv_kernel(weight, patch_height, patch_width):
    return weight.unflatten(1, (patch_height, patch_width, -1)).movedim(-1, 1)
""",
        ),
        Right(
            "one pixel of the kernel at a time",
            """
def conv_kernel(weight, patch_height, patch_width):
    D, size = weight.shape
    C = size // (patch_height * patch_width)
    pixels = [weight[:, i : i + C] for i in range(0, size, C)]
    return torch.stack(pixels, dim=-1).reshape(D, C, patch_height, patch_width)
""",
        ),
    ],
    "6.4": [
        Right(
            "positions first, each to its own",
            """
def to_tokens(patches, cls_token, table):
    cls = (cls_token + table[0])[None, None].repeat(patches.shape[0], 1, 1)
    return torch.cat((cls, patches + table[1:]), dim=1)
""",
        ),
        Right(
            "one image at a time",
            """
def to_tokens(patches, cls_token, table):
    return torch.stack([torch.vstack([cls_token, image]) + table for image in patches])
""",
        ),
    ],
    "6.5": [
        Right(
            "quotients and remainders",
            """
def offset_bias(table, rows, columns):
    n = torch.arange(rows * columns, device=table.device)
    row, column = n // columns, n % columns
    return table[:, row - row[:, None] + rows - 1, column - column[:, None] + columns - 1]
""",
        ),
        Right(
            "a window of the table for each query",
            """
def offset_bias(table, rows, columns):
    windows = [
        table[:, rows - 1 - r : 2 * rows - 1 - r, columns - 1 - c : 2 * columns - 1 - c].flatten(1)
        for r in range(rows)
        for c in range(columns)
    ]
    return torch.stack(windows, dim=1)
""",
        ),
    ],
    "6.6": [
        Right(
            "unflatten and permute",
            """
def resize_positions(table, rows, columns, new_rows, new_columns):
    cls, patches = table.split([1, rows * columns])
    grid = patches.unflatten(0, (rows, columns)).permute(2, 0, 1)[None]
    grid = F.interpolate(grid, (new_rows, new_columns), mode="bicubic")
    return torch.cat([cls, grid[0].permute(1, 2, 0).flatten(0, 1)])
""",
        ),
        Right(
            "each channel a picture of its own",
            """
def resize_positions(table, rows, columns, new_rows, new_columns):
    pictures = table[1:].T.reshape(-1, 1, rows, columns)
    size = (new_rows, new_columns)
    pictures = F.interpolate(pictures, size=size, mode="bicubic", align_corners=False)
    return torch.cat([table[:1], pictures.flatten(1).T])
""",
        ),
    ],
    "6.7": [
        Right(
            "a loop with Python's whole numbers",
            """
def vit_costs(patch_sizes, height, width, channels, d_model, num_layers, num_classes):
    rows = []
    for P in patch_sizes.tolist():
        T = 1 + (height // P) * (width // P)
        linear = [(channels * P * P, d_model)] + num_layers * (
            4 * [(d_model, d_model)] + [(d_model, 4 * d_model), (4 * d_model, d_model)]
        )
        linear += [(d_model, num_classes)]
        tokens = [T - 1] + [T] * (6 * num_layers) + [1]
        vectors = 1 + T + 2 * (2 * num_layers + 1)
        parameters = sum(a * b + b for a, b in linear) + vectors * d_model
        work = sum(n * a * b for n, (a, b) in zip(tokens, linear)) + 2 * num_layers * T * T * d_model
        rows.append([parameters, work])
    return torch.tensor(rows, device=patch_sizes.device)
""",
        ),
        Right(
            "column by column",
            """
def vit_costs(patch_sizes, height, width, channels, d_model, num_layers, num_classes):
    P, D = patch_sizes, d_model
    N = height * width // P**2
    T = N + 1
    costs = torch.empty(len(P), 2, dtype=torch.int64, device=P.device)
    costs[:, 0] = D * (channels * P**2 + N + 5) + num_classes * (D + 1) + D * num_layers * (12 * D + 13)
    costs[:, 1] = D * (num_layers * T * (12 * D + 2 * T) + height * width * channels + num_classes)
    return costs
""",
        ),
    ],
    "6.8": [
        Right(
            "rows and columns apart",
            """
def attention_distance(weights, columns, patch_size):
    shares = weights[:, :, 1:, 1:]
    shares = shares / shares.sum(-1, keepdim=True)
    n = torch.arange(shares.shape[-1], device=weights.device)
    down, right = n // columns - (n // columns)[:, None], n % columns - (n % columns)[:, None]
    steps = (down.square() + right.square()).to(weights.dtype).sqrt()
    return patch_size * torch.einsum("bhqk,qk->h", shares, steps) / (len(weights) * len(n))
""",
        ),
        Right(
            "a loop over queries",
            """
def attention_distance(weights, columns, patch_size):
    N = weights.shape[-1] - 1
    places = [(n // columns * patch_size, n % columns * patch_size) for n in range(N)]
    total = 0
    for q in range(N):
        row = weights[:, :, 1 + q, 1:]
        lengths = torch.tensor([math.dist(places[q], place) for place in places]).to(weights)
        total = total + (row * lengths).sum(-1) / row.sum(-1)
    return total.mean(0) / N
""",
        ),
    ],
    "6.9": [
        Right(
            "one row, from the last layer to the first",
            """
def rollout(weights, residual=0.5):
    L, B, H, T, _ = weights.shape
    row = torch.zeros(B, 1, T, dtype=weights.dtype, device=weights.device)
    row[:, :, 0] = 1
    for layer in weights.flip(0):
        row = residual * row + (1 - residual) * row @ layer.mean(dim=1)
    return row[:, 0, 1:] / row[:, 0, 1:].sum(dim=-1, keepdim=True)
""",
        ),
        Right(
            "each image by itself",
            """
def rollout(weights, residual=0.5):
    eye = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    mixed = residual * eye + (1 - residual) * weights.mean(2)
    products = []
    for image in mixed.unbind(1):
        product = eye
        for layer in image:
            product = layer @ product
        products.append(product[0, 1:] / product[0, 1:].sum())
    return torch.stack(products)
""",
        ),
        Right(
            "both parts added layer by layer",
            """
def rollout(weights, residual=0.5):
    A = weights.mean(2)
    mixed = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device).expand_as(A[0])
    for layer in A:
        mixed = residual * mixed + (1 - residual) * torch.bmm(layer, mixed)
    return F.normalize(mixed[:, 0, 1:], p=1, dim=-1)
""",
        ),
    ],
}
